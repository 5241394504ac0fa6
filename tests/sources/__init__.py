"""Tests of reading checkpoints and files. Valid files are written by the safetensors library itself."""
