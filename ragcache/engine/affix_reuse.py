"""What a model can reuse: affixes anywhere in a prompt, or exactly those that it begins with. Chosen once."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from ragcache.engine.exact_session import PrefixReuse
from ragcache.engine.job import Ready
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.pages import Need
from ragcache.engine.profiles import ModelProfile, Profiles
from ragcache.engine.request import Request
from ragcache.engine.scaffold import scaffold_for, system_text
from ragcache.engine.session import Session
from ragcache.prompt import TokenizedPrompt
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.policy import ReusePolicy


class Reuse(Protocol):
    """How a model reuses affixes. All methods raise `ConfigError` for what it cannot follow."""

    @property
    def session(self) -> type[Session]:
        """How a request is computed."""
        ...

    def policy(self, wanted: ReusePolicy) -> ReusePolicy:
        """What `wanted` means for the model."""
        ...

    def table(self, policy: ReusePolicy) -> DepthTable | None:
        """The depth table that `policy` uses."""
        ...

    def usable(self, prompt: TokenizedPrompt) -> TokenizedPrompt:
        """`prompt` with those affixes skipped that cannot be reused where they stand."""
        ...

    def need(self, base: Need, request: Request, ready: Ready) -> Need:
        """`base` with what `request` asks of its pages."""
        ...

    def warm_need(self, base: Need) -> Need:
        """`base` with what pages made before any request should be."""
        ...


class AnywhereReuse:
    """Pages fit any place: of networks that attend in both directions, whose anchors are recomputed."""

    session = Session

    def __init__(self, model: LoadedModel, profiles: Profiles | None) -> None:
        self._model = model
        self._profile = ModelProfile(model.predictor.config, lambda: model.fingerprint, profiles)

    def policy(self, wanted: ReusePolicy) -> ReusePolicy:
        """The profile's for `auto`."""
        return self._profile.resolve(wanted)

    def table(self, policy: ReusePolicy) -> DepthTable | None:
        """See `ModelProfile.table`."""
        return self._profile.table(policy)

    def usable(self, prompt: TokenizedPrompt) -> TokenizedPrompt:
        """All of them."""
        return prompt

    def need(self, base: Need, request: Request, ready: Ready) -> Need:
        """Hidden states for depth reuse, and a scaffold for contextual affixes."""
        if ready.table is not None:
            base = replace(base, depths=ready.table.checkpoints)
        if not ready.policy.contextual:
            return base
        within, outside = scaffold_for(request.prompt, self._model), system_text(request.prompt)
        return replace(base, within=within, outside=outside)

    def warm_need(self, base: Need) -> Need:
        """Encoded alone, as most policies have it."""
        return base


def reuse_of(model: LoadedModel, profiles: Profiles | None) -> Reuse:
    """What `model` can do, `profiles` being what was measured for it."""
    return PrefixReuse(model) if model.exact_only else AnywhereReuse(model, profiles)
