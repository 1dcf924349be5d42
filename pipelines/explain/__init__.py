"""What a request did, as one page to look at."""
