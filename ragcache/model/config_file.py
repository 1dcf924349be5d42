"""Between a checkpoint's `config.json` and `ModelConfig`, by the family's table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from ragcache.errors import CheckpointError
from ragcache.model.config import ExpertsConfig, ModelConfig
from ragcache.model.families import Raw, Sources
from ragcache.model.supported import FAMILIES, MODEL_TYPES
from ragcache.model.upstream import read_network

CONFIG = "config.json"
T = TypeVar("T", ModelConfig, ExpertsConfig)


def read_config(folder: Path) -> ModelConfig:
    """Read `config.json` of a checkpoint folder; every field is read, none is guessed.

    Raises `CheckpointError` that names the missing file or field, or the unsupported `model_type`, and
    `MissingDependencyError` for a network that is transformers' own, without it.
    """
    path = folder / CONFIG
    raw = read_raw(folder)
    if isinstance(raw.get("rope_parameters"), dict):  # where transformers 5 keeps them
        raw = {**raw["rope_parameters"], **raw}
    family = MODEL_TYPES.get(str(raw.get("model_type")))
    if family is None:
        raise CheckpointError(f"{path}: {_unsupported(raw)}")
    if family.upstream:
        return read_network(path, raw, family.name)
    for name, wanted in family.only.items():
        if raw.get(name, wanted) != wanted:
            raise CheckpointError(f"{path}: {name}={raw[name]!r} is not supported, only {wanted!r}")
    try:
        experts = _read(ExpertsConfig, family.expert_fields, raw) if family.expert_fields else None
        return _read(ModelConfig, family.fields, raw, family=family.name, experts=experts, **family.switches)
    except KeyError as error:
        raise CheckpointError(
            f"{path}: field {error} is missing; take it from the original checkpoint"
        ) from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CheckpointError(f"{path}: a field has the wrong type ({error})") from error


def read_raw(folder: Path) -> dict[str, Any]:
    """The JSON object in `config.json`. Raises `CheckpointError`."""
    path = folder / CONFIG
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: no {CONFIG}; is this a checkpoint folder?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(raw, dict):
        raise CheckpointError(f"{path}: must hold one JSON object")
    return raw


def raw_config(config: ModelConfig, stored_dtype: str) -> dict[str, Any]:
    """What `config.json` says of a model: the inverse of `read_config`."""
    family = FAMILIES[config.family]
    raw: dict[str, Any] = {"vocab_size": config.embedding_rows, **family.only}
    raw.update(_named(family.fields, config))
    if config.experts is not None:
        raw.update(_named(family.expert_fields, config.experts))
    own = {"architectures": [family.architecture], "model_type": family.model_type}
    return {**raw, **own, "eos_token_id": config.eos_id, "torch_dtype": stored_dtype}


def _named(table: Mapping[str, Sources], config: ModelConfig | ExpertsConfig) -> dict[str, Any]:
    return {s[0]: getattr(config, name) for name, s in table.items() if isinstance(s[0], str)}


def _unsupported(raw: Raw) -> str:
    known = ", ".join(f"{family.model_type} ({family.examples})" for family in FAMILIES.values())
    code = " and its own code (auto_map) is never run" if "auto_map" in raw else ""
    return f"model_type {raw.get('model_type')!r} is not supported{code}; known: {known}"


def _read(kind: type[T], table: Mapping[str, Sources], raw: Raw, **given: Any) -> T:
    values = dict(given)
    for field in fields(kind):
        if field.name in table:
            values[field.name] = _CONVERT[str(field.type)](_find(table[field.name], raw))
        elif field.name not in given and field.default is MISSING:
            raise KeyError(field.name)
    return kind(**values)


def _find(sources: Sources, raw: Raw) -> Any:
    """The first of `sources` that says something; `KeyError` names the best one that is missing."""
    missing: KeyError | None = None
    for source in sources:
        try:
            value = raw[source] if isinstance(source, str) else source(raw)
        except KeyError as error:
            missing = missing or error
            continue
        if value is not None:
            return value
    raise missing or TypeError(f"{sources[0]!r} is null")


def _whole(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise TypeError(f"{value!r} is no whole number")
    return int(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


_CONVERT: Mapping[str, Callable[[Any], Any]] = {"int": _whole, "float": float, "bool": _flag}
