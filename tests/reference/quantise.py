"""Quantisation number by number, with no regard for speed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
SMALLEST = np.float32(2.0**-126)
# All that float8_e4m3fn can be (arXiv 2209.05433): 4 bits of exponent, 3 of mantissa, no infinity.
FP8 = sorted(
    {m / 8 * 2.0**-6 for m in range(8)}
    | {(1 + m / 8) * 2.0 ** (e - 7) for e in range(1, 16) for m in range(8) if (e, m) != (15, 7)}
)


def lines(x: Array, axis: int, group: int | None) -> Iterator[tuple[tuple[int | slice, ...], Array]]:
    """Index and values of every run of at most `group` neighbours along `axis`."""
    axis %= x.ndim
    size = x.shape[axis] if group is None else group
    for at in np.ndindex(*(1 if i == axis else n for i, n in enumerate(x.shape))):
        for start in range(0, x.shape[axis], size):
            index = tuple(slice(start, start + size) if i == axis else j for i, j in enumerate(at))
            yield index, x[index]


def int8(x: Array, axis: int) -> Array:
    """Symmetric: the largest magnitude of a line becomes 127."""
    result = np.empty_like(x)
    for index, values in lines(x, axis, None):
        scale = max(np.float32(abs(values).max() / np.float32(127)), SMALLEST)
        result[index] = [np.float32(round(float(value / scale))) * scale for value in values]
    return result


def fp8(x: Array, axis: int) -> Array:
    """As int8, but the largest magnitude becomes 448 and the rest the nearest float8_e4m3fn."""
    result = np.empty_like(x)
    for index, values in lines(x, axis, None):
        scale = max(np.float32(abs(values).max() / np.float32(448)), SMALLEST)
        result[index] = [nearest_fp8(value / scale) * scale for value in values]
    return result


def nearest_fp8(value: np.float32) -> np.float32:
    """Halfway, the one with the even mantissa, which has an even place in the list."""
    place = min(range(len(FP8)), key=lambda i: (abs(FP8[i] - abs(float(value))), i % 2))
    return np.float32(np.copysign(FP8[place], value))


def int4(x: Array, axis: int) -> Array:
    """16 steps from the least to the greatest of every 32 neighbours; both bounds in bfloat16."""
    result = np.empty_like(x)
    for index, values in lines(x, axis, 32):
        step = bfloat16(max(np.float32((values.max() - values.min()) / np.float32(15)), SMALLEST))
        least = bfloat16(values.min())
        codes = [min(max(round(float((value - least) / step)), 0), 15) for value in values]
        result[index] = [np.float32(np.float32(code) * step) + least for code in codes]
    return result


def bfloat16(value: np.float32) -> np.float32:
    """Rounded to 8 bits of mantissa, half to even."""
    bits = int(np.float32(value).view(np.uint32))
    bits += 0x7FFF + (bits >> 16 & 1)
    return np.uint32(bits & 0xFFFF0000).view(np.float32)


REFERENCE = {"int8": int8, "fp8": fp8, "int4": int4}
