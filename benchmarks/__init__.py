"""Benchmarks: each prints a table of what it measured; the last line is JSON. Not part of the package."""
