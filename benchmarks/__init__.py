"""Measurements outside the tests: one command, `python -m benchmarks`, prints tables."""
