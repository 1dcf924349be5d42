"""Errors as plain values and back: ragcache's own keep their type and fields."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ragcache import errors
from ragcache.errors import RagCacheError

ERRORS: Mapping[str, type[RagCacheError]] = MappingProxyType(
    {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, RagCacheError)
    }
)


def error_to_plain(error: BaseException) -> dict[str, Any]:
    """Type, message and plain fields of `error`; of one that is not ragcache's the message names the type."""
    known = next((kind for kind in type(error).__mro__ if ERRORS.get(kind.__name__) is kind), None)
    if known is None:
        return {"type": "", "message": f"{type(error).__name__}: {error}", "fields": {}}
    plain = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float)}
    return {"type": known.__name__, "message": str(error), "fields": plain}


def error_from_plain(plain: Mapping[str, Any]) -> Exception:
    """The error again. One that is not ragcache's is a RuntimeError; only known types are made."""
    kind = ERRORS.get(plain["type"])
    if kind is None:
        return RuntimeError(f"in a replica: {plain['message']}")
    error = kind.__new__(kind, plain["message"])  # its own constructor would make the message anew
    error.__dict__.update(plain["fields"])
    return error
