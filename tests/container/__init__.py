"""Tests of the `.ninfer` container."""
