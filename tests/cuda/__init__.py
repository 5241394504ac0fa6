"""The CUDA kernels: compiled for devices, read, and run on the CPU."""
