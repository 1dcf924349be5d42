"""`python -m ragcache` is the command `ragcache`."""

from ragcache.cli import main

main()
