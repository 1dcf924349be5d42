"""From what the user typed (`nano`, a folder, a hub id) to a checkpoint folder."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ragcache.errors import UnknownModelError

NANO = Path(__file__).parent / "nano"
HUB_ID = re.compile(r"([A-Za-z0-9][\w.-]*/[\w.-]+)(?:@([\w./-]+))?")
DESCRIPTION = ("*.json", "*.jinja", "merges.txt")  # no code
FILES = (*DESCRIPTION, "*.safetensors")  # no pickle
NESTED = "*/*"  # the same weights again in other formats


@dataclass(frozen=True)
class HubModel:
    """A repository of the Hugging Face hub; `revision` None is its default branch."""

    name: str
    revision: str | None = None

    def fetch(self, files: tuple[str, ...] = FILES) -> Path:
        """The folder with the files that match, downloaded where the cache does not have them.

        Shows progress on a terminal. `HF_HUB_OFFLINE=1` asks the cache alone. Raises `UnknownModelError`.
        """
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

        try:
            return Path(
                snapshot_download(
                    self.name, revision=self.revision, allow_patterns=list(files), ignore_patterns=[NESTED]
                )
            )
        except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
            raise UnknownModelError(self.trouble(error)) from error

    def trouble(self, error: Exception) -> str:
        """What to tell of an `error` of the hub's."""
        from huggingface_hub.errors import GatedRepoError, RevisionNotFoundError

        if isinstance(error, GatedRepoError):
            return f"model {self.name!r} is gated: accept its terms on the hub, then log in (hf auth login)"
        if isinstance(error, RevisionNotFoundError):
            return f"model {self.name!r} has no revision {self.revision!r}; give a branch, tag or commit"
        if offline():
            return (
                f"model {self.name!r} is not in the cache, and HF_HUB_OFFLINE forbids a download; unset it, "
                "or pass a checkpoint folder"
            )
        return (
            f"model {self.name!r}: neither a folder here nor to be had from the Hugging Face hub "
            f"({type(error).__name__}); check the name and the network, or pass a checkpoint folder"
        )


def offline() -> bool:
    """Whether `HF_HUB_OFFLINE` leaves the hub's cache alone."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def find_model(model: str) -> Path | HubModel:
    """What `model` names: the shipped `nano`, a local folder, or a hub id, perhaps with `@revision`.

    Raises `UnknownModelError` when it is none of them. Nothing is downloaded.
    """
    if model == "nano":
        return NANO
    folder = os.path.expanduser(model)  # unlike pathlib, os.path takes unusable paths for absent ones
    if os.path.isdir(folder):
        return Path(folder)
    if named := HUB_ID.fullmatch(model):
        return HubModel(*named.groups())
    raise UnknownModelError(
        f"unknown model {model[:200]!r}: not 'nano', not a folder, "
        "not a hub id like 'GSAI-ML/LLaDA-8B-Instruct'"
    )


def find_checkpoint(model: str) -> Path:
    """The folder of `model`, with everything a checkpoint has; what only the hub has is downloaded.

    Raises `UnknownModelError` when there is no such model or the hub cannot be reached.
    """
    found = find_model(model)
    return found if isinstance(found, Path) else found.fetch()


def find_config(model: str) -> Path:
    """A folder with at least `config.json` of `model`. Raises as `find_checkpoint`."""
    found = find_model(model)
    return found if isinstance(found, Path) else found.fetch(("config.json",))
