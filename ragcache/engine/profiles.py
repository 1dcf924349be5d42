"""What was measured for a model, kept under its fingerprint: its depth table, and what `auto` means."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from ragcache.errors import ConfigError
from ragcache.model.config import ModelConfig
from ragcache.reuse.depth import PUBLISHED, DepthTable
from ragcache.reuse.plan import depth_table
from ragcache.reuse.policy import ReusePolicy, parse_policy

log = logging.getLogger(__name__)
SAFE = ReusePolicy()
FORMAT = 1


class Profiles:
    """A folder of JSON files, `<fingerprint>/<kind>.json`; `RAGCACHE_PROFILES` overrides the user's own."""

    def __init__(self, folder: Path | None = None) -> None:
        chosen = os.environ.get("RAGCACHE_PROFILES")
        self.folder = folder or (Path(chosen) if chosen else user_config_path("ragcache") / "profiles")

    def path(self, fingerprint: str, kind: str) -> Path:
        """The file of one model."""
        return self.folder / fingerprint / f"{kind}.json"

    def policy(self, fingerprint: str) -> ReusePolicy:
        """What `auto` stands for; without a profile a safe default, and the log says so."""
        path = self.path(fingerprint, "policy")
        found = self.read(path, fingerprint)
        if found is None:
            log.warning("no profile for this model yet: auto uses %s; measure with ragcache tune", SAFE.name)
            return SAFE
        try:
            policy = parse_policy(str(found["policy"]))
        except (KeyError, ConfigError) as error:
            raise ConfigError(f"{path}: no usable policy ({error}); run ragcache tune again") from error
        if policy.auto:
            raise ConfigError(f"{path}: says 'auto' itself; run ragcache tune again")
        return policy

    def depth_table(self, fingerprint: str) -> DepthTable | None:
        """The table that `ragcache profile-depth` measured, or None."""
        path = self.path(fingerprint, "depth")
        found = self.read(path, fingerprint)
        if found is None:
            return None
        try:
            entries = tuple((float(share), int(depth)) for share, depth in found["entries"])
            return DepthTable(str(found["name"]), int(found["layers"]), entries)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ConfigError(f"{path}: not a depth table ({error}); run ragcache profile-depth") from error

    def write(self, fingerprint: str, kind: str, values: Mapping[str, Any]) -> Path:
        """Replace a file in one rename. Raises `ConfigError` when the folder cannot be written."""
        path = self.path(fingerprint, kind)
        text = json.dumps({"format": FORMAT, "model": fingerprint, **values}, indent=2) + "\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            raise ConfigError(
                f"{path}: cannot be written ({error.strerror}); set RAGCACHE_PROFILES to a folder of yours"
            ) from error
        return path

    def read(self, path: Path, fingerprint: str) -> dict[str, Any] | None:
        """The values of a file; None without one. Raises `ConfigError` when it is another model's."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read ({error}); delete it and measure again") from error
        try:
            values = json.loads(text)
            made_for, version = values["model"], values["format"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigError(f"{path}: not a profile ({error}); delete it and measure again") from error
        if made_for != fingerprint or version != FORMAT:
            raise ConfigError(
                f"{path}: made for model {str(made_for)[:12]}..., this one is {fingerprint[:12]}...; "
                "measure this model: ragcache tune, ragcache profile-depth"
            )
        found: dict[str, Any] = values
        return found


class ModelProfile:
    """What is known of one model, and what policies mean for it.

    `fingerprint` is only called for policies that depend on a profile: hashing weights takes time.
    """

    def __init__(
        self, config: ModelConfig, fingerprint: Callable[[], str], profiles: Profiles | None = None
    ) -> None:
        self.config, self.fingerprint = config, fingerprint
        self.profiles = profiles or Profiles()

    def resolve(self, policy: ReusePolicy) -> ReusePolicy:
        """The policy itself, or for `auto` what was found for the model."""
        return self.profiles.policy(self.fingerprint()) if policy.auto else policy

    def table(self, policy: ReusePolicy) -> DepthTable | None:
        """The depth table `policy` uses: the measured one, else the published one. Raises `ConfigError`."""
        own = None
        if policy.depth is not None and policy.depth.layers is None and policy.depth.table is None:
            own = self.profiles.depth_table(self.fingerprint()) or published_table(self.config)
        return depth_table(policy, self.config.layers, own)


def published_table(config: ModelConfig) -> DepthTable | None:
    """The published table whose model has this shape, or None."""
    shapes = {(32, 4096, 126464): "LLaDA-8B-Instruct", (28, 3584, 152064): "Dream-7B-Instruct"}
    name = shapes.get((config.layers, config.hidden_size, config.embedding_rows))
    return PUBLISHED[name] if name else None
