"""One module a migration, each with a way back."""
