"""Tests of the native module by itself: its border, its build, and encoders and verifier against each other."""
