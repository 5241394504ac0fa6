"""The `ninforge` command (interface.md, Command line)."""

from service.cli.application import main

__all__ = ["main"]
