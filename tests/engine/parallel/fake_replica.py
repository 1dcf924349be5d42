"""A process that talks like a replica, but starts at once and does as it is told: `echo`, `texts`, `wait`...

Its device says how it begins: `cpu` serves, `broken` tells an error, `mute` ends without a word, `other` has
another model. `once:FILE` serves if there is no such file, and makes it.
"""

import json
import os
import signal
import sys
from pathlib import Path

COST = {"count": 2, "rows": 3.0, "seconds": 2.0, "squares": 5.0, "products": 4.0}


def say(kind, **fields):
    own = fields if kind == "Text" else {**fields, "row_cost": {"kind": "RowCost", "fields": COST}}
    print(json.dumps({"kind": kind, "fields": own}), flush=True)


def fail(number, message):
    pairs = [["type", "CheckpointError"], ["message", message], ["fields", {"pairs": []}]]
    say("Failed", number=number, error={"pairs": pairs})


def begin(device):
    if device == "broken":
        fail(0, "no weights")
        sys.exit(0)
    if device == "mute" or (device.startswith("once:") and Path(device[5:]).exists()):
        sys.exit(3)
    if device.startswith("once:"):
        Path(device[5:]).touch()
    fingerprint = "g" if device == "other" else "f"
    outline = {"name": "m", "fingerprint": fingerprint, "dtype": "fp32", "device": device}
    say("Result", number=0, value={"kind": "Outline", "fields": outline})


def hear(kind, number, call=None, args=(), options=None):
    if kind == "Cancel":
        fail(number, "cancelled")
    elif call == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif call == "nonsense":
        print("what?", flush=True)
    elif call == "texts":
        for text in args:
            say("Text", number=number, text=text)
        say("Result", number=number, value=os.getpid())
    elif call != "wait":
        say("Result", number=number, value=[os.getpid(), *args])


begin(json.loads(sys.stdin.readline())["fields"]["device"])
for line in sys.stdin:
    message = json.loads(line)
    hear(message["kind"], **message["fields"])
