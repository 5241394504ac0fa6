"""Sources: checkpoints and files, found below the allowed roots, checked from their headers, read by position."""
