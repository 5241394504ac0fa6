"""The files that bring the service into operation: compose file, images, monitoring."""
