"""From what the user typed (`nano`, a folder, a hub id) to a checkpoint folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ragcache.errors import UnknownModelError

NANO = Path(__file__).parent / "nano"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def find_checkpoint(model: str) -> Path:
    """The folder of `model`: the shipped `nano`, a local folder, or a Hugging Face hub id (downloaded).

    Raises `UnknownModelError` when there is no such model or the hub cannot be reached.
    """
    if model == "nano":
        return NANO
    folder = os.path.expanduser(model)  # unlike pathlib, os.path takes unusable paths for absent ones
    if os.path.isdir(folder):
        return Path(folder)
    if HUB_ID.fullmatch(model):
        return _download(model)
    raise UnknownModelError(
        f"unknown model {model[:200]!r}: not 'nano', not a folder, "
        "not a hub id like 'GSAI-ML/LLaDA-8B-Instruct'"
    )


def _download(hub_id: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        patterns = ["*.json", "*.safetensors", "*.jinja"]
        return Path(snapshot_download(hub_id, allow_patterns=patterns))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise UnknownModelError(
            f"model {hub_id!r}: neither a folder here nor to be had from the Hugging Face hub "
            f"({type(error).__name__}); check the name and the network, or pass a checkpoint folder"
        ) from error
