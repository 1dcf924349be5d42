"""Where torch computes: no pool of threads is left in a thread that goes on, and slows the worker's down.

libgomp's workers are no Python threads, so the system's own list is counted, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TASKS = Path("/proc/self/task")
PROGRAM = """
import os, time
import torch
import ragcache.benching.models, ragcache.engine.parallel, ragcache.prompt
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, Request, load
from ragcache.benching.models import load_model
from ragcache.prompt import Affix, Prompt

def tasks():
    return len(os.listdir("/proc/self/task"))

def added(before):
    # a thread that was joined leaves the list a moment later
    until = time.monotonic() + 10
    while tasks() != before and time.monotonic() < until:
        time.sleep(0.01)
    return tasks() - before

start = tasks()
%s
print("left", added(start))
"""
PROGRAMS = {
    "random weights": 'model = load_model("random:5m")',
    "nano": 'model = load("nano", dtype="bf16")',
    "an engine": """
model = load("nano")
engine = Engine(model)
engine.generate([Request(Prompt.user(Affix("doc", "The river is long and wide. " * 9), "How long?"),
                         DecodingOptions(8, 8))])
print("idle", added(start))  # the worker has gone, and its pool with it
engine.close()
""",
}


@pytest.mark.skipif(not TASKS.is_dir(), reason="counts the threads that Linux lists")
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_pool_is_left_where_nobody_computes_any_more(name: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % PROGRAMS[name]],
        capture_output=True, text=True, timeout=120, env=environment, check=True,
    )  # fmt: skip
    said = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines())
    assert said["left"] == "0"
    assert said.get("idle", "0") == "0"
