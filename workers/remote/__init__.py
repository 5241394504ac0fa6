"""Sources that are not on this machine: repositories of the Hugging Face Hub, and single files by https."""
