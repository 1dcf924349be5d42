"""What a family of checkpoints is: a small table of names and switches; the network is one for all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ragcache.errors import CheckpointError

Raw: TypeAlias = Mapping[str, Any]
# where a value stands in config.json: names, the best first, or how else to know it (KeyError: it is missing)
Sources: TypeAlias = tuple[str | Callable[[Raw], Any], ...]
# checkpoint tensor -> the parameters it holds, stacked along the first axis; {i} is the layer, {e} the expert
Tensors: TypeAlias = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Family:
    """What tells one family from another.

    `fields` and `expert_fields` say where config.json has what `ModelConfig` and `ExpertsConfig` want;
    `switches` hold for the whole family; `only` are fields that change what the weights mean, with the one
    value supported; `stops` are the texts of tokens that end a turn. Of an `upstream` family the network is
    transformers' own, which reads its config and names its tensors itself (`ragcache.model.upstream`).
    """

    name: str
    model_type: str
    architecture: str
    examples: str
    fields: Mapping[str, Sources]
    only: Raw
    tensors: Tensors
    stops: tuple[str, ...]
    switches: Raw = field(default_factory=dict)
    expert_fields: Mapping[str, Sources] = field(default_factory=dict)
    upstream: bool = False


def tensor_names(family: Family, parameters: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Checkpoint tensor -> our parameters in it, for a model that has just `parameters`.

    What a model does not have (biases, a tied head, the MLP of a layer of experts) drops out by itself.
    """
    known, names = set(parameters), {}
    numbers: dict[str, set[str]] = {"{i}": {"0"}, "{e}": {"0"}}
    for name in known:
        parts = name.split(".")
        if parts[0] == "layers":
            numbers["{i}"].add(parts[1])
        if len(parts) > 3 and parts[2] == "experts":
            numbers["{e}"].add(parts[3])
    for theirs, ours in family.tensors.items():
        for i in numbers["{i}"] if "{i}" in theirs else {""}:
            for e in numbers["{e}"] if "{e}" in theirs else {""}:
                held = tuple(name.replace("{i}", i).replace("{e}", e) for name in ours)
                if known.issuperset(held):
                    names[theirs.replace("{i}", i).replace("{e}", e)] = held
    if unnamed := known.difference(*names.values()):
        raise CheckpointError(f"family {family.name!r} has no name for {', '.join(sorted(unnamed)[:4])}")
    return names
