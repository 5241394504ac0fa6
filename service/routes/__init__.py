"""One module a resource of interface.md."""
