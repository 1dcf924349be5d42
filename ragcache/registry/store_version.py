"""What `version.json` says of a store: its format, and whether and under which key it is encrypted.

A plain store has format 1. An encrypted one has format 2, so that a library that knows nothing of encryption
refuses it instead of taking every page for damaged.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragcache.errors import StoreDamagedError, StoreKeyError
from ragcache.registry.encryption import KEY_FILE_VARIABLE, KEY_VARIABLE, SCHEME, Cipher

PLAIN, ENCRYPTED = 1, 2
NEWEST = ENCRYPTED
_CHECK = b"ragcache store"
_CHECK_NAME = "version.json"


def describe(cipher: Cipher | None) -> bytes:
    """The content of `version.json`; `check` tells the right key from others and says nothing of it."""
    if cipher is None:
        return json.dumps({"format": PLAIN}).encode()
    check = base64.b64encode(cipher.seal_whole(_CHECK_NAME, _CHECK)).decode()
    return json.dumps({"format": ENCRYPTED, "encryption": SCHEME, "check": check}).encode()


def check_key(folder: Path, version: Mapping[str, Any], cipher: Cipher | None) -> None:
    """Raise `StoreKeyError` unless the store wants `cipher`'s key, or wants none and is given none."""
    scheme = version.get("encryption")
    if scheme is None and cipher is None:
        return
    if scheme is None:
        raise StoreKeyError(
            f"{folder} was made without encryption, but an encryption key is given; choose an empty folder "
            f"for an encrypted store, or unset {KEY_VARIABLE} and {KEY_FILE_VARIABLE}."
        )
    if cipher is None:
        raise StoreKeyError(
            f"{folder} is encrypted; set {KEY_VARIABLE} or {KEY_FILE_VARIABLE} to its key, "
            "or choose another folder."
        )
    if scheme != SCHEME or not _opens(version.get("check"), cipher):
        raise StoreKeyError(
            f"{folder} is encrypted with another key; give that one, or choose another folder."
        )


def _opens(check: object, cipher: Cipher) -> bool:
    try:
        sealed = base64.b64decode(check, validate=True) if isinstance(check, str) else b""
        return cipher.open_whole(_CHECK_NAME, sealed) == _CHECK
    except (ValueError, StoreDamagedError):
        return False
