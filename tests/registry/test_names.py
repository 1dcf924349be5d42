from __future__ import annotations

from pathlib import Path

import pytest

from ragcache.errors import InputError, UnknownAffixError
from ragcache.registry import Registry, normalise_text
from ragcache.registry.names import NameTable


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        "a/b\\c",
        "e\u0301t\u00e9 \u65e5\u672c\u8a9e \U0001f600",
        "n" * 1000,
        "x\ny",
        "CON",
    ],
)
def test_names_are_data_and_never_paths(registry: Registry, tmp_path: Path, name: str) -> None:
    before = {entry for entry in tmp_path.rglob("*") if "names" not in entry.parts}
    record = registry.register(name, "text")
    assert registry.lookup(name) == record
    assert {entry for entry in tmp_path.rglob("*") if "names" not in entry.parts} == before
    (file,) = (registry_path := tmp_path / "store" / "names").iterdir()
    assert file.parent == registry_path
    assert file.stat().st_mode & 0o777 == 0o600
    registry.remove(name)
    assert registry.names() == ()


@pytest.mark.parametrize("name", ["", "a\0b", "n" * 10_000, "\ud800", 5])
def test_unusable_names_are_refused(registry: Registry, name: str) -> None:
    for use in (registry.lookup, registry.remove, lambda n: registry.register(n, "text")):
        with pytest.raises(InputError, match="affix name"):
            use(name)


def test_unicode_twins(registry: Registry) -> None:
    """Two spellings of one text are one name; what only looks alike is another one."""
    record = registry.register("caf\u00e9", "text")
    assert registry.lookup("cafe\u0301") == record
    others = ["caf\u0435\u0301", "\uff43af\u00e9", "caf\u00e9\u200b", "Caf\u00e9", "caf\u00e9 "]
    for other in others:
        with pytest.raises(UnknownAffixError):
            registry.lookup(other)
        registry.register(other, f"text of {other!a}")
    assert len(registry.names()) == 6
    assert registry.lookup("cafe\u0301") == record


@pytest.mark.parametrize("namespace", ["../../etc", "/", "..", "a/b", "n" * 1000, "\u65e5\u672c"])
def test_namespaces_are_data_and_never_paths(
    registry: Registry, tmp_path: Path, make_key, make_page, namespace: str
) -> None:
    before = {entry for entry in tmp_path.rglob("*") if not {"names", "pages"} & set(entry.parts)}
    registry.register("name", "text", namespace=namespace)
    key = make_key(namespace=namespace)
    registry.put(key, make_page(key))
    assert registry.get(key) is not None
    assert registry.get(make_key()) is None
    after = {entry for entry in tmp_path.rglob("*") if not {"names", "pages"} & set(entry.parts)}
    assert {entry for entry in after - before if "index" not in entry.parts} == set()


@pytest.mark.parametrize("namespace", ["", "a\0b", "n" * 10_000, "\ud800"])
def test_unusable_namespaces_are_refused(registry: Registry, namespace: str) -> None:
    with pytest.raises(InputError, match="namespace"):
        registry.register("name", "text", namespace=namespace)


def test_text_is_normalised_at_ingest(registry: Registry) -> None:
    record = registry.register("a", "Cafe\u0301 \r\n  two\t\r\n")
    assert record.text == "Caf\u00e9\n  two\n"
    assert normalise_text(record.text) == record.text


@pytest.mark.parametrize("text", ["", "  \n\t\n", "\r\n", "\ud800", None])
def test_unusable_text_is_refused(registry: Registry, text: str) -> None:
    with pytest.raises(InputError, match="text"):
        registry.register("a", text)
    assert registry.names() == ()


def test_names_survive_reopening(registry: Registry, path: Path) -> None:
    registry.register("b", "two")
    registry.register("a", "one")
    with Registry(path) as again:
        assert [(record.name, record.text) for record in again.names()] == [("a", "one"), ("b", "two")]


def test_same_text_again_changes_nothing(registry: Registry) -> None:
    assert registry.register("a", "one\r\n") == registry.register("a", "one\n")


def test_new_text_moves_the_name(registry: Registry) -> None:
    old = registry.register("a", "one")
    new = registry.register("a", "two")
    assert (new.text, new.created_s) == ("two", old.created_s)
    assert new.text_digest != old.text_digest
    assert registry.lookup("a") == new


def test_unknown_name_lists_close_ones(registry: Registry) -> None:
    registry.register("refund-policy", "text")
    with pytest.raises(UnknownAffixError, match="did you mean 'refund-policy'"):
        registry.lookup("refund-polcy")
    with pytest.raises(UnknownAffixError, match="register it first"):
        registry.remove("zzz")


def test_finding_lists_no_other_name(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    record = registry.register("a", "one")
    monkeypatch.setattr(NameTable, "names", lambda *_: pytest.fail("read every name"))
    assert registry.find("a") == record
    assert registry.find("b") is None
    assert registry.find("a", "other") is None
    with pytest.raises(InputError, match="affix name"):
        registry.find("")


def test_namespaces_do_not_see_each_other(registry: Registry) -> None:
    mine = registry.register("a", "text", namespace="mine")
    yours = registry.register("a", "text", namespace="yours")
    assert mine.text_digest != yours.text_digest
    registry.remove("a", "mine")
    assert registry.names("mine") == ()
    assert registry.lookup("a", "yours") == yours
    with pytest.raises(UnknownAffixError, match="no affix"):
        registry.lookup("a")


def test_text_digest_can_be_asked_for_unregistered_text(registry: Registry) -> None:
    assert registry.text_digest("one \r\n") == registry.register("a", "one\n").text_digest


def test_neither_name_nor_text_shows_in_file_names(registry: Registry, path: Path) -> None:
    registry.register("secretname", "secrettext")
    assert not [entry for entry in path.rglob("*") if "secret" in entry.name and entry.name != "secret"]


@pytest.mark.parametrize("damage", ["flip", "truncate", "nest", "link", "swap"])
def test_damaged_name_is_unknown_and_set_aside(registry: Registry, path: Path, damage: str) -> None:
    registry.register("a", "some text")
    (file,) = (path / "names").iterdir()
    content = file.read_bytes()
    if damage == "flip":
        file.write_bytes(content.replace(b"some", b"Some"))
    elif damage == "truncate":
        file.write_bytes(content[:-5])
    elif damage == "nest":
        file.write_bytes(b"[" * 100_000)
    elif damage == "swap":
        registry.register("b", "some text")
        (other,) = set((path / "names").iterdir()) - {file}
        other.replace(file)
    else:
        file.rename(path / "elsewhere")
        file.symlink_to(path / "elsewhere")
    with pytest.raises(UnknownAffixError):
        registry.lookup("a")
    assert len(list((path / "quarantine").iterdir())) == 1
    assert registry.register("a", "some text").text == "some text"


def test_a_listing_sees_changes_of_others(tmp_path: Path) -> None:
    """Listings remember unchanged files; another opening's change must still show."""
    with Registry(tmp_path / "store") as ours, Registry(tmp_path / "store") as theirs:
        theirs.register("a", "first text")
        assert [record.text for record in ours.names()] == ["first text"]
        theirs.register("a", "second text, longer")
        theirs.register("b", "third text")
        assert [record.text for record in ours.names()] == ["second text, longer", "third text"]
        theirs.remove("a")
        assert [record.name for record in ours.names()] == ["b"]
