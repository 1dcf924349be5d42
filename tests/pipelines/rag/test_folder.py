"""A pipeline that follows a folder: only what changed is embedded and encoded."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.fixtures import *  # noqa: F403

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine
from ragcache.errors import ConfigError, DocumentError, EngineClosedError
from ragcache.pipelines.rag.documents import Document
from ragcache.pipelines.rag.pipeline import RagPipeline
from ragcache.registry import Registry

from .test_index import Letters

SHORT = DecodingOptions(max_tokens=4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "harbour.md").write_text("Aa aaa: the harbour is there.")
    (folder / "kettle.md").write_text("Bb bbb: the kettle is here.")
    return folder


def test_sync_embeds_and_encodes_what_changed(folder: Path, engine: Engine) -> None:
    letters = Letters("ab")
    pipeline = RagPipeline.from_folder(folder, engine, letters, top_k=1)
    assert len(letters.embedded) == 2
    (folder / "kettle.md").write_text("Bb bbb: the kettle was sold.")
    (folder / "boat.md").write_text("Aa aa: the boat.")
    changes = pipeline.sync()
    assert (changes.added, changes.changed, changes.removed) == (("boat.md",), ("kettle.md",), ())
    assert letters.embedded[2:] == ["Aa aa: the boat.", "Bb bbb: the kettle was sold."]
    (folder / "harbour.md").unlink()
    assert pipeline.sync().removed == ("harbour.md",)
    assert {piece.name for piece in pipeline.index.chunks} == {"boat.md", "kettle.md"}
    assert len(letters.embedded) == 4
    assert engine.registry is not None
    assert [record.name for record in engine.registry.names()] == ["boat.md", "kettle.md"]


def test_pages_are_there_before_the_first_question(folder: Path, engine: Engine) -> None:
    pipeline = RagPipeline.from_folder(folder, engine, Letters("ab"), top_k=1)
    answer = pipeline.ask("bbb", options=SHORT)
    statuses = {use.name: use.status for use in answer.completion.reuse.affixes}
    assert statuses["kettle.md"] == "hit"
    assert [hit.chunk.name for hit in answer.sources] == ["kettle.md"]


def test_names_of_two_folders_are_told_apart(folder: Path, tmp_path: Path, engine: Engine) -> None:
    RagPipeline.from_folder(folder, engine, Letters("ab"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "kettle.md").write_text("Bb: another kettle.")
    with pytest.raises(ValueError, match="--prefix"):
        RagPipeline.from_folder(other, engine, Letters("ab"))
    pipeline = RagPipeline.from_folder(other, engine, Letters("ab"), prefix="other/")
    assert [piece.name for piece in pipeline.index.chunks] == ["other/kettle.md"]


def test_it_makes_and_closes_an_engine_of_its_own(folder: Path, checkpoint: Path, store: Path) -> None:
    with RagPipeline.from_folder(folder, embeddings=Letters("ab"), model=str(checkpoint), store=store) as own:
        assert own.ask("aaa", options=SHORT).sources
    with pytest.raises(EngineClosedError):
        own.ask("aaa", options=SHORT)
    own.close()
    with Registry(store) as registry:
        assert len(registry.pages()) == 3  # the system prompt too


def test_bad_input_is_typed(tmp_path: Path, folder: Path, engine: Engine) -> None:
    with pytest.raises(DocumentError, match="no such file"):
        RagPipeline.from_folder(tmp_path / "gone", engine, Letters("ab"))
    with Engine(engine.model) as bare, pytest.raises(ConfigError, match="no registry"):
        RagPipeline.from_folder(folder, bare, Letters("ab"))
    with pytest.raises(ConfigError, match="follows no folder"):
        RagPipeline([Document("a", "a")], engine, Letters("ab")).sync()
