from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch

from ragcache.registry import Registry, filesystem
from ragcache.registry.filesystem import network_filesystem

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/fast ext4 rw 0 0
//nas/share /mnt/our\\040files cifs rw 0 0
me@host:/ /mnt/ssh fuse.sshfs rw 0 0
portal /run/portal fuse.portal rw 0 0
tmpfs /over tmpfs rw 0 0
server:/b /over nfs rw 0 0
broken
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    (tmp_path / "mounts").write_text(MOUNTS)
    return tmp_path / "mounts"


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/var/store", None),
        ("/home/me/store", "nfs4"),
        ("/home", "nfs4"),
        ("/homework", None),
        ("/home/fast/store", None),
        ("/mnt/our files/store", "cifs"),
        ("/mnt/ssh/store", "fuse.sshfs"),
        ("/run/portal/x", None),
        ("/over/store", "nfs"),
    ],
)
def test_the_innermost_and_latest_mount_counts(mounts: Path, place: str, kind: str | None) -> None:
    assert network_filesystem(Path(place), mounts) == kind


def test_without_a_mount_table_everything_is_local(tmp_path: Path) -> None:
    assert network_filesystem(tmp_path, tmp_path / "absent") is None


def test_a_store_on_a_network_is_warned_of_and_read_whole(
    tmp_path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "store"
    (tmp_path / "mounts").write_text(f"server:/ {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(filesystem, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr("ragcache.registry.payload.safe_open", lambda *_, **__: pytest.fail("mapped"))
    with caplog.at_level(logging.WARNING), Registry(path, memory_bytes=0) as registry:
        key = make_key()
        registry.put(key, make_page(key))
        page = registry.get(key)
        assert page is not None
        assert torch.equal(page.keys[0], make_page(key).keys[0])
        damaged = next((path / "pages").iterdir())
        damaged.write_bytes(damaged.read_bytes()[:-1])
        assert registry.get(key) is None
    (warning,) = [record.message for record in caplog.records if "nfs4" in record.message]
    assert "--store" in warning
    assert "--remote" in warning
