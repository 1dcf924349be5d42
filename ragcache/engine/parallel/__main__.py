"""The process of one replica, started by `ReplicaProcess`; of no use from a terminal."""

import os
import signal
import sys

from ragcache.engine.parallel.serve import serve

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what any library prints must not stand between messages
    serve(sys.stdin.buffer, sink)
