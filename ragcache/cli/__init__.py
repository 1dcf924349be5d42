"""The command `ragcache`. Nothing heavy is imported before a command runs, so that `--help` is quick."""

from ragcache.cli.app import app, main

__all__ = ["app", "main"]
