"""Encoding on an NVIDIA GPU: kernels, their compilation at run time, and what runs them.

Only `device.py` and `streams.py` use torch, and nothing is loaded before a device was asked for.
"""
