from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from ragcache.errors import ConfigError, StoreDamagedError
from ragcache.registry.payload import (
    PayloadInfo,
    build_header,
    read_info,
    read_payload,
    stamp_of,
    write_payload,
)

INFO = PayloadInfo(key="{}", created_s=12.5, encode_s=0.25, text_digest="t", library="1.0")


def write(path: Path, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    tensors = {
        "token_ids": torch.arange(3),
        "k.0": torch.randn(2, 3, 5).to(dtype),
        "v.0": torch.randn(2, 3, 5).to(dtype),
    }
    write_payload(path, build_header(tensors, INFO), tensors)
    return tensors


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_round_trip_is_exact(tmp_path: Path, dtype: torch.dtype) -> None:
    written = write(tmp_path / "page", dtype)
    info, token_ids, tensors = read_payload(tmp_path / "page", check_digests=True)
    assert info == INFO
    assert torch.equal(token_ids, written["token_ids"])
    assert all(tensors[name].dtype == dtype for name in ("k.0", "v.0"))
    assert all(torch.equal(tensors[name], written[name]) for name in ("k.0", "v.0"))


def test_safetensors_itself_reads_it(tmp_path: Path) -> None:
    written = write(tmp_path / "page")
    assert torch.equal(load_file(tmp_path / "page")["v.0"], written["v.0"])


def test_data_starts_on_a_page_and_the_file_is_private(tmp_path: Path) -> None:
    write(tmp_path / "page")
    (length,) = struct.unpack("<Q", (tmp_path / "page").read_bytes()[:8])
    assert (8 + length) % 4096 == 0
    assert (tmp_path / "page").stat().st_mode & 0o777 == 0o600


def test_one_layer_is_one_range(tmp_path: Path) -> None:
    write(tmp_path / "page")
    (length,) = struct.unpack("<Q", (tmp_path / "page").read_bytes()[:8])
    header = json.loads((tmp_path / "page").read_bytes()[8 : 8 + length])
    assert header["k.0"]["data_offsets"][1] == header["v.0"]["data_offsets"][0]


def test_reading_maps_the_file_instead_of_copying_it(tmp_path: Path) -> None:
    write(tmp_path / "page")
    _, token_ids, _ = read_payload(tmp_path / "page", check_digests=False)
    assert token_ids.data_ptr() % 4096 == 0


def test_flipped_data_bytes_are_noticed(tmp_path: Path) -> None:
    write(tmp_path / "page")
    intact = (tmp_path / "page").read_bytes()
    for position in range(4096, len(intact), 5):
        damaged = bytearray(intact)
        damaged[position] ^= 0x10
        (tmp_path / "page").write_bytes(damaged)
        with pytest.raises(StoreDamagedError, match="were changed"):
            read_payload(tmp_path / "page", check_digests=True)


@pytest.mark.parametrize("size", [0, 7, 100, 4096, -1])
def test_truncation_is_noticed(tmp_path: Path, size: int) -> None:
    write(tmp_path / "page")
    (tmp_path / "page").write_bytes((tmp_path / "page").read_bytes()[:size])
    with pytest.raises(StoreDamagedError):
        read_payload(tmp_path / "page", check_digests=False)
    with pytest.raises(StoreDamagedError):
        read_info(tmp_path / "page")


def test_foreign_safetensors_file_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"k.0": torch.zeros(1)}, tmp_path / "page")
    with pytest.raises(StoreDamagedError):
        read_payload(tmp_path / "page", check_digests=False)


def test_link_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "page")
    (tmp_path / "link").symlink_to(tmp_path / "page")
    for read in (stamp_of, read_info):
        with pytest.raises(StoreDamagedError, match="regular file"):
            read(tmp_path / "link")


def test_unknown_dtype_is_refused() -> None:
    with pytest.raises(ConfigError, match="float64"):
        build_header({"k.0": torch.zeros(1, dtype=torch.float64)}, INFO)
