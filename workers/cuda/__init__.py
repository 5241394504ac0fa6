"""Encoding on an NVIDIA GPU: kernels, their compilation at run time, and what runs them. Only `encoders.py` and `device.py`
need torch and a driver; nothing here is imported unless a device was asked for."""
