"""Reuse policies: what a request recomputes of its affixes, as one value with a short string form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ragcache.errors import ConfigError
from ragcache.reuse.budget import AdaptiveShare, Budget, Share
from ragcache.reuse.context import AnchorCriterion
from ragcache.reuse.criteria import CRITERIA, DEFAULT, criterion_named
from ragcache.reuse.depth import DepthTable

FORMS = "full, direct, auto, depth, depth=LAYERS, adaptive@MASS, " + ", ".join(
    f"{n}@BUDGET" for n in CRITERIA
)
EXAMPLES = "qa@0.2, depth+qa@0.2, adaptive@0.9, qa@0.2+once, acache@0.2+contextual"


@dataclass(frozen=True)
class Depth:
    """Layers of all affix rows served from pages: `layers`, or what `table` says for the affix share.

    Both None: the table that was measured or published for the model at hand.
    """

    layers: int | None = None
    table: DepthTable | None = None

    def __post_init__(self) -> None:
        if self.layers is not None and self.layers < 0:
            raise ConfigError(f"depth {self.layers} is negative; give a number of layers")

    @property
    def name(self) -> str:
        """As in policy strings."""
        return "depth" if self.layers is None else f"depth={self.layers}"


@dataclass(frozen=True)
class ReusePolicy:
    """Recompute the share `budget` (0..1, or a `Budget`) of all affix tokens, chosen by `criterion`.

    Budget 0 reuses everything as it is (direct); budget 1 recomputes everything (full). With `depth`, layers
    below it reuse everything and the anchors join there. `refresh_every` counts blocks: anchors are
    recomputed at the start of every n-th block (None: of the first only). `contextual` encodes affixes within
    a scaffold (system prompt, neutral question, canvas) instead of alone. Affixes of fewer than `min_tokens`
    tokens are simply computed. `auto` stands for what `ragcache tune` found for the model.
    """

    budget: float | Budget = 0.2
    criterion: AnchorCriterion = DEFAULT
    depth: Depth | None = None
    refresh_every: int | None = 1
    contextual: bool = False
    min_tokens: int = 0
    auto: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.budget, (int, float)):
            object.__setattr__(self, "budget", Share(float(self.budget)))
        if isinstance(self.budget, AdaptiveShare) and not self.criterion.is_mass:
            raise ConfigError(
                f"an adaptive budget is a share of attention; {self.criterion.name!r} gives none: "
                f"use {DEFAULT.name}"
            )
        if self.refresh_every is not None and self.refresh_every < 1:
            raise ConfigError(f"refresh_every must be at least 1 block, not {self.refresh_every}")
        if self.min_tokens < 0:
            raise ConfigError(f"min_tokens must be 0 or more, not {self.min_tokens}")

    @property
    def amount(self) -> Budget:
        """The budget as an object."""
        assert not isinstance(self.budget, (int, float))  # see __post_init__
        return self.budget

    @property
    def name(self) -> str:
        """The short form; `parse_policy` reads it back."""
        if self.auto:
            return "auto"
        further = self._further_names()
        anchors = self._anchor_name(alone=not further)
        parts = [self.depth.name] if self.depth else []
        parts += [anchors] if anchors else []
        return "+".join([*parts, *further])

    def _further_names(self) -> list[str]:
        names = []
        if self.refresh_every != 1:
            names.append("once" if self.refresh_every is None else f"every={self.refresh_every}")
        names += ["contextual"] if self.contextual else []
        names += [f"min={self.min_tokens}"] if self.min_tokens else []
        return names

    def _anchor_name(self, alone: bool) -> str:
        if isinstance(self.amount, AdaptiveShare):
            named = f"adaptive{self.amount.name}"
            return named if self.criterion == DEFAULT else f"{self.criterion.name}+{named}"
        share = f"{self.criterion.name}{self.amount.name}"
        if self.amount.least == 1.0:
            whole = "full" if alone else share  # `full` takes nothing beside it
            return "" if self.depth else whole
        return "direct" if self.amount.most == 0.0 else share

    @property
    def reuses(self) -> bool:
        """False when every affix token is recomputed anyway, so that no page is needed."""
        return self.amount.least < 1.0 or self.depth is not None


Full = ReusePolicy(budget=1.0)
Direct = ReusePolicy(budget=0.0)
Auto = ReusePolicy(auto=True)


def Anchors(budget: float = 0.2) -> ReusePolicy:
    """The `budget` share of affix tokens that question and masks attend to most."""
    return ReusePolicy(budget=budget)


def parse_policy(text: str) -> ReusePolicy:
    """A policy from its short form, parts joined by `+`: `qa@0.2`, `depth+qa@0.2`, `direct`.

    Raises `ConfigError` naming the known forms, or what is said twice.
    """
    policy, said = ReusePolicy(budget=1.0), set[str]()
    parts = [part.strip() for part in text.split("+")]
    alone = {"full": Full, "direct": Direct, "auto": Auto}
    if len(parts) == 1 and parts[0] in alone:
        return alone[parts[0]]
    for part in parts:
        word, sign, value = part.partition("@") if "@" in part else part.partition("=")
        settings, change = _change(text, word, value if sign else None)
        if twice := said & settings:
            raise ConfigError(f"policy {text!r} gives {' and '.join(sorted(twice))} twice; give it once")
        said |= settings
        policy = _guarded(text, partial(change, policy))
    if "criterion" in said and "budget" not in said:
        policy = replace(policy, budget=Share())
    if not said & {"criterion", "budget", "depth"}:
        raise ConfigError(f"policy {text!r} does not say what to recompute; for example {EXAMPLES}")
    return policy


def as_policy(policy: ReusePolicy | str) -> ReusePolicy:
    """The policy itself, or that of a short form. Raises `ConfigError` for anything else."""
    if isinstance(policy, str):
        return parse_policy(policy)
    if not isinstance(policy, ReusePolicy):
        raise ConfigError(f"policy is a {type(policy).__name__}; give a ReusePolicy or its short form")
    return policy


def parse_policies(text: str) -> tuple[ReusePolicy, ...]:
    """Policies from their short forms, separated by commas, equal ones once; raises as `parse_policy`."""
    policies = [parse_policy(part.strip()) for part in text.split(",")]
    return tuple({policy.name: policy for policy in policies}.values())


Change = Callable[[ReusePolicy], ReusePolicy]


def _change(text: str, word: str, value: str | None) -> tuple[set[str], Change]:
    """What one part of a policy settles, and how; `value` None where nothing follows the word."""
    if word in CRITERIA:
        criterion = criterion_named(word)
        if value is None:
            return {"criterion"}, lambda p: replace(p, criterion=criterion)
        return {"criterion", "budget"}, lambda p: replace(p, criterion=criterion, budget=Share(float(value)))
    settles, follows, change = _WORDS.get(word, ("", False, lambda p, v: p))
    if not settles or follows not in (None, value is not None):
        raise ConfigError(f"unknown policy {text!r}; known: {FORMS}; for example {EXAMPLES}")
    return set(settles.split()), lambda p: change(p, value or "")


def _adaptive(value: str) -> AdaptiveShare:
    mass, _, bounds = value.partition(":")
    if not bounds:
        return AdaptiveShare(float(mass))
    least, _, most = bounds.partition("-")
    return AdaptiveShare(float(mass), float(least), float(most))


def _guarded(text: str, make: Callable[[], ReusePolicy]) -> ReusePolicy:
    try:
        return make()
    except ConfigError as error:
        raise ConfigError(f"policy {text!r}: {error}") from None
    except ValueError as error:
        raise ConfigError(f"policy {text!r}: not a number ({error}); for example {EXAMPLES}") from None


# word -> (what it settles, whether a value follows (None: either way), what it changes)
_WORDS: dict[str, tuple[str, bool | None, Callable[[ReusePolicy, str], ReusePolicy]]] = {
    "direct": ("criterion budget", False, lambda p, v: replace(p, budget=0.0)),
    "adaptive": ("budget", None, lambda p, v: replace(p, budget=_adaptive(v) if v else AdaptiveShare())),
    "depth": ("depth", None, lambda p, v: replace(p, depth=Depth(int(v) if v else None))),
    "once": ("refresh", False, lambda p, v: replace(p, refresh_every=None)),
    "every": ("refresh", True, lambda p, v: replace(p, refresh_every=int(v))),
    "contextual": ("context", False, lambda p, v: replace(p, contextual=True)),
    "min": ("min", True, lambda p, v: replace(p, min_tokens=int(v))),
}
