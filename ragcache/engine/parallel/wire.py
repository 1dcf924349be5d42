"""Values as JSON and back: what an engine and its replicas tell each other, without pickle.

Numbers, texts, None, tuples and mappings are as JSON has them or nearly so. Other values are those of the
dataclasses in `KINDS`, by name; nothing else is made of what is read. A field that is added to one of them
goes over the wire without a word here. Floats keep every bit.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from ragcache.decoding.commit import ConfidenceThreshold, EntropyBound, Factor, FixedSteps, Times
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine.costs import RowCost
from ragcache.engine.parallel.messages import Ask, Cancel, Failed, Result, Text
from ragcache.engine.parallel.spec import EngineOptions, Outline, ReplicaSpec, Warmed, WarmedPage
from ragcache.engine.preview import Preview, Section
from ragcache.engine.request import AffixUse, Completion, Request, ReuseReport, Timings
from ragcache.engine.trace import StepTrace, Trace
from ragcache.errors import ConfigError
from ragcache.prompt import Affix, AffixSpan, Message, Prompt, SkippedSpan, TokenizedPrompt
from ragcache.registry.settings import RegistrySettings
from ragcache.reuse.budget import AdaptiveShare, Share
from ragcache.reuse.criteria import CRITERIA
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.policy import Depth, ReusePolicy

_VALUES = (
    *(Request, Prompt, Message, Affix, DecodingOptions),
    *(ConfidenceThreshold, EntropyBound, Factor, FixedSteps, Times),
    *(ReusePolicy, Share, AdaptiveShare, Depth, DepthTable),
    *(Completion, ReuseReport, AffixUse, Timings, Trace, StepTrace),
    *(Preview, Section, TokenizedPrompt, AffixSpan, SkippedSpan),
    *(Ask, Cancel, Text, Result, Failed),
    *(RowCost, ReplicaSpec, EngineOptions, RegistrySettings, Outline, Warmed, WarmedPage),
    *{type(criterion) for criterion in CRITERIA.values()},
)
KINDS: Mapping[str, type[Any]] = MappingProxyType({kind.__name__: kind for kind in _VALUES})


def dump(value: object) -> bytes:
    """One line of JSON. Raises `ConfigError` for a value that is of no kind known here."""
    return json.dumps(_plain(value)).encode("ascii") + b"\n"


def load(line: bytes) -> Any:
    """The value of a line; lists come back as tuples. Raises ValueError for what `dump` does not write."""
    try:
        return _value(json.loads(line))
    except (KeyError, TypeError, SafetensorError) as error:
        raise ValueError(f"no such value on this wire: {error}") from error


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(key), _plain(one)] for key, one in value.items()]}
    if isinstance(value, Tensor):
        packed = save_tensors({"": value.cpu().contiguous()})
        return {"tensor": base64.b64encode(packed).decode("ascii")}
    kind = type(value)
    if KINDS.get(kind.__name__) is not kind:
        raise ConfigError(
            f"a {kind.__name__} of your own cannot be sent to a replica's process; use one of ragcache's "
            "own, or an Engine in this process"
        )
    return {"kind": kind.__name__, "fields": {f.name: _plain(getattr(value, f.name)) for f in fields(kind)}}


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(_value(one) for one in plain)
    if not isinstance(plain, dict):
        return plain
    if "pairs" in plain:
        return {_value(key): _value(one) for key, one in plain["pairs"]}
    if "tensor" in plain:
        return load_tensors(base64.b64decode(plain["tensor"], validate=True))[""]
    return KINDS[plain["kind"]](**{name: _value(one) for name, one in plain["fields"].items()})
