"""Affixes follow a folder: by content, chunk by chunk, and never into another folder's names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engine.fixtures import *  # noqa: F403

from ragcache.engine import Engine, LoadedModel, Request
from ragcache.errors import DocumentError, InputError, UnknownAffixError
from ragcache.pipelines.sync import Changes, apply_changes, find_changes
from ragcache.prompt import Affix, Message, Prompt
from ragcache.registry import Registry

SENTENCE = "The {} lamp stands on the long table near the window of the {} room. "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "harbour.md").write_text("The harbour opens at six in the morning.")
    (folder / "kettle.md").write_text("The kettle costs forty crowns and is blue.")
    return folder


def sync(folder: Path, registry: Registry, engine: Engine | None = None) -> tuple[Changes, int]:
    changes = find_changes(folder, registry)
    return changes, apply_changes(changes, registry, engine)


def names(registry: Registry) -> list[str]:
    return [record.name for record in registry.names()]


def test_a_new_folder_is_added_and_a_second_run_changes_nothing(
    folder: Path, registry: Registry, engine: Engine
) -> None:
    changes, built = sync(folder, registry, engine)
    assert (changes.added, built) == (("harbour.md", "kettle.md"), 2)
    (folder / "harbour.md").touch()
    again, rebuilt = sync(folder, registry, engine)
    assert (again.added, again.changed, again.removed, rebuilt) == ((), (), (), 0)
    assert again.unchanged == ("harbour.md", "kettle.md")


def test_finding_changes_writes_nothing(folder: Path, registry: Registry) -> None:
    assert find_changes(folder, registry).added
    assert names(registry) == []


def test_an_edit_rebuilds_only_its_chunk_and_drops_the_old_page(
    folder: Path, registry: Registry, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor = engine.model.predictor
    monkeypatch.setattr(predictor, "config", replace(predictor.config, max_tokens=2048))
    parts = ["# Part {}\n\n" + SENTENCE.format(n, "blue") * 12 for n in "abc"]
    text = "\n\n".join(part.replace("{}", n) for part, n in zip(parts, "abc", strict=True))
    (folder / "long.md").write_text(text)
    first, built = sync(folder, registry, engine)
    chunks = [name for name in first.added if name.startswith("long.md#")]
    assert built == len(first.added) >= 5
    (folder / "long.md").write_text(text.replace("The b lamp", "The big lamp", 1))
    second, rebuilt = sync(folder, registry, engine)
    assert (len(second.changed), second.removed, rebuilt) == (1, (), 1)
    assert len(registry.pages()) == built  # the page of the old text is gone
    assert len(chunks) == len([name for name in second.unchanged if name.startswith("long.md#")]) + 1


def test_what_left_the_folder_is_forgotten_with_its_page(
    folder: Path, registry: Registry, engine: Engine
) -> None:
    sync(folder, registry, engine)
    registry.register("mine", "A text that is no file's.")
    (folder / "kettle.md").unlink()
    changes, _ = sync(folder, registry, engine)
    assert changes.removed == ("kettle.md",)
    assert names(registry) == ["harbour.md", "mine"]
    assert len(registry.pages()) == 1


def test_the_next_request_uses_the_new_text(folder: Path, registry: Registry, engine: Engine) -> None:
    """A name is a pointer: what a prompt says under it is found by its text."""
    sync(folder, registry, engine)
    (folder / "kettle.md").write_text("The kettle costs fifty crowns and is green.")
    _, built = sync(folder, registry, engine)
    text = registry.lookup("kettle.md").text
    assert "fifty" in text
    prompt = Prompt((Message("user", (Affix("kettle.md", text), "\nWhat does it cost?")),))
    [use] = engine.generate([Request(prompt)])[0].reuse.affixes
    assert (built, use.status) == (1, "hit")


def test_names_of_two_folders_do_not_mix(folder: Path, registry: Registry, tmp_path: Path) -> None:
    sync(folder, registry)
    other = tmp_path / "other"
    other.mkdir()
    (other / "kettle.md").write_text("Another kettle.")
    with pytest.raises(InputError, match=r"kettle.md.*was made from .*docs.*--prefix"):
        find_changes(other, registry)
    changes = find_changes(other, registry, prefix="other/")
    apply_changes(changes, registry)
    assert names(registry) == ["harbour.md", "kettle.md", "other/kettle.md"]
    assert find_changes(folder, registry).removed == ()


def test_a_name_that_asking_made_is_taken_over(folder: Path, registry: Registry) -> None:
    registry.register("kettle.md", "The kettle costs forty crowns and is blue.")
    changes, _ = sync(folder, registry)
    assert changes.unchanged == ("kettle.md",)
    (folder / "kettle.md").unlink()
    assert sync(folder, registry)[0].removed == ("kettle.md",)


def test_a_folder_that_lost_everything_loses_no_affix(folder: Path, registry: Registry) -> None:
    """It may just not be mounted."""
    sync(folder, registry)
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(DocumentError):
        find_changes(folder, registry)
    assert names(registry) == ["harbour.md", "kettle.md"]


def test_a_name_that_somebody_else_removed_is_no_error(folder: Path, registry: Registry) -> None:
    sync(folder, registry)
    (folder / "kettle.md").unlink()
    changes = find_changes(folder, registry)
    registry.remove("kettle.md")
    apply_changes(changes, registry)
    with pytest.raises(UnknownAffixError):
        registry.lookup("kettle.md")


def test_progress_counts_every_name(folder: Path, registry: Registry) -> None:
    seen: list[str] = []
    apply_changes(find_changes(folder, registry), registry, on_name=seen.append)
    assert sorted(seen) == ["harbour.md", "kettle.md"]


def test_names_and_pages_belong_to_the_namespace(
    folder: Path, registry: Registry, model: LoadedModel, engine: Engine
) -> None:
    sync(folder, registry, engine)
    with Engine(model, registry, namespace="tenant") as theirs:
        changes = find_changes(folder, registry, namespace="tenant")
        assert len(changes.added) == 2
        assert apply_changes(changes, registry, theirs) == 2
    (folder / "kettle.md").unlink()
    apply_changes(find_changes(folder, registry, namespace="tenant"), registry)
    assert [record.name for record in registry.names("tenant")] == ["harbour.md"]
    assert names(registry) == ["harbour.md", "kettle.md"]
    assert sorted(row.namespace for row in registry.pages()) == ["default", "default", "tenant"]
