"""Runs every case through the Triton kernel in Triton's interpreter; one line of JSON: a difference for each.

A program of its own, because triton reads `TRITON_INTERPRET` once, when it is imported.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from model.kernels.cases import CASES, difference, inputs

from ragcache.model.kernels.triton_segment import attend

if __name__ == "__main__":
    print(json.dumps({case.name: asdict(difference(attend, inputs(case), runs=case.runs)) for case in CASES}))
