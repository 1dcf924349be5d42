"""Device code of `ragcache.model.kernels.triton_segment`, in Triton: importing it needs triton.

Softmax attention in one pass (online softmax as in FlashAttention, arXiv 2205.14135) over one run of the
columns (Flash-Decoding). Scores are in base 2, since `exp2` is what the hardware has.
"""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["rows", "columns", "run"])
def attend_tile(
    q, keys, values, keep, distances, frequencies, out, lse,
    rows, columns, run, scale,
    q_head, q_row, key_head, key_column, value_head, value_column, keep_row, keep_column,
    GROUP: tl.constexpr, DIM: tl.constexpr, ROTARY: tl.constexpr, KEEP_PER_ROW: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr, PRODUCT: tl.constexpr,
):  # fmt: skip
    """One tile of the rows of one KV head over one run of `run` columns.

    Arguments named like `q_head` are strides in elements. `GROUP` heads share a KV head, and their rows lie
    one after the other in its tiles, so that keys and values are read once for all. `scale` is that of the
    scores times log2(e). `keep` is uint8, or None; `distances` None turns nothing. `WIDTH` is `DIM` rounded
    up to a power of two; matrix products take operands of the dtype `PRODUCT` and sum in fp32.
    `out` is `[runs, heads, rows, DIM]`, `lse` `[runs, heads, rows]`, both fp32 and contiguous.
    """
    kv_head, part = tl.program_id(1), tl.program_id(2)
    flat = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row, head, real = flat % rows, (kv_head * GROUP + flat // rows).to(tl.int64), flat < GROUP * rows
    dim = tl.arange(0, WIDTH)
    inside = dim < DIM
    place = q + head[:, None] * q_head + row[:, None] * q_row
    query = tl.load(place + dim[None, :], mask=real[:, None] & inside[None, :], other=0.0)
    if distances is not None:
        query = turned(query, place, real, dim, row, distances, frequencies, ROTARY // 2)
    query = query.to(PRODUCT)
    key_place = keys + kv_head.to(tl.int64) * key_head + dim[:, None]
    value_place = values + kv_head.to(tl.int64) * value_head + dim[None, :]
    peak = tl.full([ROWS], float("-inf"), tl.float32)
    mass = tl.zeros([ROWS], tl.float32)
    mixed = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(part * run, tl.minimum(part * run + run, columns), COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        there = column < columns
        key_mask, value_mask = inside[:, None] & there[None, :], there[:, None] & inside[None, :]
        key = tl.load(key_place + column[None, :] * key_column, mask=key_mask, other=0.0)
        value = tl.load(value_place + column[:, None] * value_column, mask=value_mask, other=0.0)
        scores = tl.dot(query, key.to(PRODUCT), input_precision="ieee") * scale
        seen = real[:, None] & there[None, :]
        if keep is not None:
            seen = kept(seen, keep, row, column, real, there, keep_row, keep_column, KEEP_PER_ROW)
        scores = tl.where(seen, scores, float("-inf"))
        peak, mass, mixed = mixed_in(peak, mass, mixed, scores, value, PRODUCT)
    mass = tl.where(mass > 0.0, mass, 1.0)  # of a row that sees nothing: out is 0, lse -inf
    slot = (part * tl.num_programs(1) * GROUP + head) * rows + row
    whole = real[:, None] & inside[None, :]
    tl.store(out + slot[:, None] * DIM + dim[None, :], mixed / mass[:, None], mask=whole)
    tl.store(lse + slot, (peak + tl.log2(mass)) * 0.6931471805599453, mask=real)  # times ln(2)


@triton.jit
def mixed_in(peak, mass, mixed, scores, value, PRODUCT: tl.constexpr):
    """Highest score, mass (`[ROWS]`) and weighted sum of values (`[ROWS, WIDTH]`) with more columns in."""
    higher = tl.maximum(peak, tl.max(scores, 1))
    base = tl.where(higher == float("-inf"), 0.0, higher)  # nothing seen so far: no -inf minus -inf
    weights = tl.exp2(scores - base[:, None])
    decay = tl.exp2(peak - base)
    rounded = weights.to(value.dtype).to(PRODUCT)
    mixed = tl.dot(rounded, value.to(PRODUCT), mixed * decay[:, None], input_precision="ieee")
    return higher, mass * decay + tl.sum(weights, 1), mixed


@triton.jit
def turned(query, place, real, dim, row, distances, frequencies, HALF: tl.constexpr):
    """The tile `query` `[ROWS, WIDTH]` rotated by its rows' `distances`, rounded to its dtype.

    Element i below `HALF` makes a pair with element i + `HALF` (see `ragcache.model.rope`); what lies behind
    the second halves has the angle 0.
    """
    rotary, first = dim < 2 * HALF, dim < HALF
    partner = tl.where(first, dim + HALF, dim - HALF)
    other = tl.load(place + partner[None, :], mask=real[:, None] & rotary[None, :], other=0.0).to(tl.float32)
    distance = tl.load(distances + row, mask=real, other=0).to(tl.float32)
    frequency = tl.load(frequencies + dim % HALF, mask=rotary, other=0.0)
    phase = distance[:, None] * frequency[None, :]
    other = tl.where(first[None, :], -other, other)
    return (query.to(tl.float32) * tl.cos(phase) + other * tl.sin(phase)).to(query.dtype)


@triton.jit
def kept(seen, keep, row, column, real, there, keep_row, keep_column, PER_ROW: tl.constexpr):
    """`seen` `[ROWS, COLUMNS]` less what `keep` leaves out; one mask for all rows is read once."""
    if PER_ROW:
        place = keep + row[:, None] * keep_row + column[None, :] * keep_column
        keeps = tl.load(place, mask=real[:, None] & there[None, :], other=0) != 0
    else:
        keeps = (tl.load(keep + column * keep_column, mask=there, other=0) != 0)[None, :]
    return seen & keeps


def product_dtype(x):
    """The operands' dtype of matrix products with the torch tensor `x`.

    That of `x` itself; on the CPU fp32, since the interpreter computes with numpy, which has no bf16.
    """
    return tl.float32 if x.device.type == "cpu" else getattr(tl, str(x.dtype).removeprefix("torch."))
