"""Attention over some of the columns, by device: each module has the same `attend`."""
