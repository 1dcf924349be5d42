"""Attention over one segment's columns by a Triton kernel of our own, which turns queries as it reads them.

Runs on CUDA; on the CPU in Triton's interpreter alone (`TRITON_INTERPRET=1`), which is for tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor

from ragcache.errors import MissingDependencyError
from ragcache.model.kernels.plain import Partial
from ragcache.model.rope import Turn

TILE_BYTES = 2**14  # of keys; two stages take 56 KiB of shared memory, which every GPU with bf16 has
STAGES = 2
LEAST_RUN = 512  # columns; below, joining the runs would cost more than it gains


@dataclass(frozen=True)
class Tiles:
    """How the work is cut: `count` tiles of `rows` rows for each KV head, which step by `columns` columns.

    `width` is the head's size as the kernel has it. These sizes are powers of two and at least 16, which is
    what its matrix products need.
    """

    count: int
    rows: int
    columns: int
    width: int

    @classmethod
    def of(cls, rows: int, head_dim: int, item_bytes: int) -> Tiles:
        """For `rows` rows a KV head, those of all its query heads together."""
        width = _power_of_two(head_dim)
        columns = min(64, max(16, TILE_BYTES // (width * item_bytes)))
        tall = min(columns, _power_of_two(rows))
        return cls(-(-rows // tall), tall, columns, width)


def attend(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    keep: Tensor | None = None,
    turn: Turn | None = None,
    *,
    runs: int | None = None,
) -> Partial:
    """Softmax attention of `q` `[heads, n, head_dim]` over `keys`/`values` `[kv_heads, m, head_dim]`.

    All of one dtype: fp32, bf16 or fp16; sums are fp32. Columns where `keep` (`[m]` or `[n, m]` bool) is
    False are not seen; a row that sees none has `out` 0 and `lse` -inf. With `turn`, `q` is before RoPE.
    `runs` cuts the columns into so many parts that work side by side; None: as many as fill the device.
    Raises `MissingDependencyError` without triton.
    """
    device_code = _device_code()
    q, keys, values = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, keys, values))
    (heads, n, _), (kv_heads, m, _) = q.shape, keys.shape
    tiles = Tiles.of(heads // kv_heads * n, q.shape[-1], q.element_size())
    if runs is None:
        runs = fitting_runs(tiles.count * kv_heads, m, _processors(q.device))
    out = q.new_empty((runs, *q.shape), dtype=torch.float32)
    lse = q.new_empty((runs, heads, n), dtype=torch.float32)
    if n:
        with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]  # where Triton launches
            _launch(device_code, tiles, (q, keys, values), keep, turn, (out, lse))
    return joined(out, lse)


def _launch(
    device_code: ModuleType,
    tiles: Tiles,
    inputs: tuple[Tensor, Tensor, Tensor],
    keep: Tensor | None,
    turn: Turn | None,
    results: tuple[Tensor, Tensor],
) -> None:
    (heads, n, head_dim), (kv_heads, m, _), runs = inputs[0].shape, inputs[1].shape, len(results[0])
    run = -(-m // (runs * tiles.columns)) * tiles.columns
    mask = None if keep is None else keep.view(torch.uint8).expand(n, m)
    device_code.attend_tile[(tiles.count, kv_heads, runs)](
        *inputs,
        mask,
        *((None, None) if turn is None else (turn.distances.contiguous(), turn.frequencies)),
        *results,
        *(n, m, run, head_dim**-0.5 * math.log2(math.e)),
        *(stride for x in inputs for stride in x.stride()[:2]),
        *((0, 0) if mask is None else mask.stride()),
        GROUP=heads // kv_heads,
        DIM=head_dim,
        ROTARY=0 if turn is None else 2 * len(turn.frequencies),
        KEEP_PER_ROW=keep is not None and keep.dim() == 2,
        ROWS=tiles.rows,
        COLUMNS=tiles.columns,
        WIDTH=tiles.width,
        PRODUCT=device_code.product_dtype(inputs[0]),
        num_stages=STAGES,
    )


def joined(out: Tensor, lse: Tensor) -> Partial:
    """One part of several: `out` `[parts, heads, n, head_dim]`, `lse` `[parts, heads, n]`."""
    if len(out) == 1:
        return Partial(out[0], lse[0])
    total = torch.logsumexp(lse, dim=0)
    shares = (lse - total.masked_fill(total.isneginf(), 0.0)).exp()
    return Partial((shares[..., None] * out).sum(dim=0), total)


def fitting_runs(programs: int, columns: int, processors: int) -> int:
    """How many runs of `columns` let `programs` tiles of rows fill the `processors` (Flash-Decoding)."""
    return max(1, min(processors // max(1, programs), columns // LEAST_RUN))


def _processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def _power_of_two(size: int) -> int:
    """The least one that is at least `size`, and at least 16."""
    return max(16, 1 << (size - 1).bit_length()) if size else 16


def _device_code() -> ModuleType:
    try:
        from ragcache.model.kernels import triton_kernel
    except ImportError as error:
        raise MissingDependencyError(
            "the Triton attention kernel needs triton. Run: pip install 'ragcache-dllm[triton]'"
        ) from error
    return triton_kernel
