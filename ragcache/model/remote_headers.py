"""The headers of a checkpoint on the hub, read by range requests: its tensors without their numbers."""

from __future__ import annotations

from pathlib import Path

from ragcache.errors import CheckpointError, UnknownModelError
from ragcache.model.catalog import HubModel
from ragcache.model.weights import CONVERT, Stored, one_each


def remote_headers(model: HubModel, folder: Path) -> dict[str, Stored]:
    """Every tensor as its shard describes it; shards are named as if they lay in `folder`.

    Raises `CheckpointError` where there are no safetensors files, or damaged ones, and `UnknownModelError`
    when the hub cannot be reached.
    """
    from huggingface_hub import get_safetensors_metadata
    from huggingface_hub.errors import (
        EntryNotFoundError,
        LocalEntryNotFoundError,
        NotASafetensorsRepoError,
        SafetensorsParsingError,
    )

    try:
        shards = get_safetensors_metadata(model.name, revision=model.revision).files_metadata
    except NotASafetensorsRepoError as error:
        raise CheckpointError(
            f"{model.name}: no safetensors weights; if there are others, {CONVERT}"
        ) from error
    except SafetensorsParsingError as error:
        raise CheckpointError(f"{model.name}: a damaged safetensors file ({error})") from error
    except LocalEntryNotFoundError as error:  # an EntryNotFoundError, but of the cache
        raise UnknownModelError(model.trouble(error)) from error
    except EntryNotFoundError as error:
        raise CheckpointError(f"{model.name}: a shard is named by the index but missing ({error})") from error
    except Exception as error:  # the hub's, httpx' or requests', by the hub's version
        raise UnknownModelError(model.trouble(error)) from error
    return one_each(
        (name, Stored(folder / file, str(tensor.dtype), tuple(tensor.shape)))
        for file, shard in sorted(shards.items())
        for name, tensor in shard.tensors.items()
    )
