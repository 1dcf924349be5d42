from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from ragcache.errors import (
    ConfigError,
    StoreDamagedError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
    StoreVersionError,
)
from ragcache.registry import Registry


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's store is to be; nothing is there yet."""
    return tmp_path / "store"


def test_folders_and_files_are_private(registry: Registry, path: Path) -> None:
    registry.register("a", "text")
    modes = {entry.relative_to(path).as_posix(): entry.stat().st_mode & 0o777 for entry in path.rglob("*")}
    assert path.stat().st_mode & 0o777 == 0o700
    assert all(mode == (0o700 if (path / name).is_dir() else 0o600) for name, mode in modes.items()), modes
    assert len((path / "secret").read_bytes()) == 32


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_store_that_others_may_write_to_is_refused(path: Path, mode: int) -> None:
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(StoreUnavailableError, match="chmod 700"):
        Registry(path)


def test_subfolder_that_others_may_write_to_is_refused(path: Path) -> None:
    Registry(path).close()
    (path / "pages").chmod(0o777)
    with pytest.raises(StoreUnavailableError, match=r"chmod 700 .*pages"):
        Registry(path)


def test_store_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Registry(path).close()
    os.chown(path, 12345, -1) if os.geteuid() == 0 else monkeypatch.setattr("os.geteuid", lambda: 12345)
    with pytest.raises(StoreUnavailableError, match="another user"):
        Registry(path)


def test_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "store"):
        with pytest.raises(StoreUnavailableError, match="cannot create"):
            Registry(path)


def test_unwritable_parent_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreUnavailableError, match="denied"):
        Registry(path)


def test_folder_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    path.mkdir(mode=0o700)
    (path / "thesis.txt").write_text("x")
    with pytest.raises(StoreUnavailableError, match=r"thesis\.txt"):
        Registry(path)
    assert {entry.name for entry in path.iterdir()} - {"lock"} == {"thesis.txt"}


def test_interrupted_construction_is_completed(path: Path) -> None:
    Registry(path).close()
    secret = (path / "secret").read_bytes()
    (path / "version.json").unlink()
    (path / "version.json.tmp").write_text("")
    Registry(path).close()
    assert (path / "secret").read_bytes() == secret


def test_newer_store_is_refused(path: Path) -> None:
    Registry(path).close()
    (path / "version.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(StoreVersionError, match="99"):
        Registry(path)


@pytest.mark.parametrize("text", ["", "[]", '{"format": "x"}', "\x00", "[" * 5000], ids=len)
def test_damaged_version_file_is_an_error(path: Path, text: str) -> None:
    Registry(path).close()
    (path / "version.json").write_text(text)
    with pytest.raises(StoreDamagedError, match=r"version\.json"):
        Registry(path)


@pytest.mark.parametrize("secret", [None, b"short"])
def test_lost_secret_is_an_error(path: Path, secret: bytes | None) -> None:
    Registry(path).close()
    (path / "secret").unlink() if secret is None else (path / "secret").write_bytes(secret)
    with pytest.raises(StoreDamagedError, match="secret"):
        Registry(path)


def test_read_only_folder_without_a_store_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.mkdir(mode=0o700)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(StoreUnavailableError, match="not a store"):
        Registry(path)


def test_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    Registry(Path("~/cache")).close()
    assert (tmp_path / "cache" / "version.json").is_file()


@pytest.mark.parametrize(
    "limits", [{"limit_bytes": 0}, {"limit_bytes": -1}, {"limit_bytes": 1.5}, {"memory_bytes": -1}]
)
def test_limits_out_of_range_are_refused(path: Path, limits: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(limits))):
        Registry(path, **limits)
    assert not path.exists()


def test_read_only_store_serves_and_refuses_changes(
    path: Path, monkeypatch: pytest.MonkeyPatch, make_key, make_page
) -> None:
    key, other = make_key(), make_key(9)
    with Registry(path) as registry:
        registry.put(key, make_page(key), text_digest="t")
        registry.register("a", "text")
    before = {entry: entry.stat().st_mtime_ns for entry in path.rglob("*")}
    monkeypatch.setattr("os.access", lambda *_: False)
    with Registry(path) as registry:
        with registry.building(key):
            assert registry.get(key) is not None
        assert registry.get(other) is None
        assert registry.lookup("a").text == "text"
        assert (registry.stats().entries, len(registry.pages("t"))) == (1, 1)
        assert registry.verify().ok == 1
        for change in (
            lambda: registry.put(other, make_page(other)),
            lambda: registry.register("b", "text"),
            lambda: registry.remove("a"),
        ):
            with pytest.raises(StoreReadOnlyError):
                change()
    assert {entry: entry.stat().st_mtime_ns for entry in path.rglob("*")} == before


def test_a_lost_version_file_heals_beside_the_vectors_of_ask(tmp_path: Path) -> None:
    with Registry(tmp_path / "store"):
        pass
    (tmp_path / "store" / "vectors").mkdir()
    (tmp_path / "store" / "version.json").unlink()
    with Registry(tmp_path / "store") as registry:
        assert registry.stats().entries == 0


@pytest.mark.parametrize("name", ["s" * 300, "a\0b", "~nobody-is-called-so/" + "s" * 300])
def test_a_path_that_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUnavailableError, match="cannot create the store folder"):
        Registry(Path(name))


def test_a_store_on_a_full_disk_can_still_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, make_key, make_page
) -> None:
    key = make_key()
    with Registry(path) as registry:
        registry.put(key, make_page(key))

    def full(folder: Path, policy: object) -> None:
        raise StoreFullError("no room left")

    monkeypatch.setattr("ragcache.registry.shelf.Index", full)
    with Registry(path) as registry:
        assert registry.get(key) is not None
        with pytest.raises(StoreReadOnlyError, match="check its permissions and its disk"):
            registry.register("a", "text")
