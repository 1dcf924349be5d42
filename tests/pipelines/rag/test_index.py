"""Nearest chunks, and vectors that are embedded once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ragcache.errors import ConfigError, EmptyQuestionError
from ragcache.pipelines.rag.chunks import Chunk
from ragcache.pipelines.rag.index import DocumentIndex
from ragcache.pipelines.rag.vector_cache import VectorCache


class Letters:
    """How often each letter of `alphabet` occurs; remembers what it was asked to embed."""

    def __init__(self, alphabet: str = "abc", model_name: str | None = "letters") -> None:
        self.alphabet = alphabet
        self.model_name = model_name
        self.embedded: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(text.count(letter)) for letter in self.alphabet]


def chunks(*texts: str) -> list[Chunk]:
    return [Chunk(f"d#{number}", text, "d") for number, text in enumerate(texts, start=1)]


def test_nearest_first_with_their_cosines() -> None:
    hits = DocumentIndex.build(chunks("b", "ab", "a"), Letters()).search("a", k=2)
    assert [hit.chunk.text for hit in hits] == ["a", "ab"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5**0.5], abs=1e-6)


def test_ties_come_in_chunk_order_and_k_may_be_large() -> None:
    index = DocumentIndex.build(chunks(*["a"] * 30, "b"), Letters())
    assert [hit.chunk.name for hit in index.search("a", k=5)] == [f"d#{n}" for n in range(1, 6)]
    assert len(index.search("a", k=1000)) == 31
    assert index.embedded == 2


def test_no_chunks_no_hits() -> None:
    assert DocumentIndex.build([], Letters()).search("a", k=3) == ()


def test_wrong_questions_are_refused() -> None:
    index = DocumentIndex.build(chunks("a"), Letters())
    with pytest.raises(ConfigError, match="top_k is 0"):
        index.search("a", k=0)
    with pytest.raises(EmptyQuestionError, match="no text"):
        index.search(" \n", k=1)


def test_a_second_run_embeds_only_what_is_new(tmp_path: Path) -> None:
    first = DocumentIndex.build(chunks("a", "ab"), Letters(), tmp_path)
    again = Letters()
    second = DocumentIndex.build(chunks("ab", "a"), again, tmp_path)
    assert (first.embedded, second.embedded, again.embedded) == (2, 0, [])
    assert [hit.chunk.text for hit in second.search("a", k=2)] == ["a", "ab"]
    third = Letters()
    DocumentIndex.build(chunks("a", "c"), third, tmp_path)
    assert third.embedded == ["c"]
    fourth = Letters()
    DocumentIndex.build(chunks("ab", "c"), fourth, tmp_path)
    assert fourth.embedded == []


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    DocumentIndex.build(chunks("a"), Letters(), tmp_path)
    other = Letters("ab", model_name="other")
    assert DocumentIndex.build(chunks("a"), other, tmp_path).embedded == 1
    for _ in range(2):
        nameless = Letters(model_name=None)
        assert DocumentIndex.build(chunks("a"), nameless, tmp_path).embedded == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-30] + b"\0" * 30,
        lambda data: data.replace(np.float32(1).tobytes(), np.float32(9).tobytes(), 1),
        lambda data: b"not a zip file",
    ],
)
def test_a_damaged_cache_is_rebuilt(tmp_path: Path, damage) -> None:
    DocumentIndex.build(chunks("a", "b"), Letters(), tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert VectorCache(tmp_path, "Letters:letters").was_damaged
    assert DocumentIndex.build(chunks("a", "b"), Letters(), tmp_path).embedded == 2
    assert DocumentIndex.build(chunks("a", "b"), Letters(), tmp_path).embedded == 0


def test_pickled_arrays_are_never_loaded(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "m")
    np.savez(cache.path, keys=np.array([object()]), vectors=np.array([object()]))
    assert VectorCache(tmp_path, "m").was_damaged


def test_arrays_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "m")
    keys = np.zeros((2, 32), dtype=np.uint8)
    for vectors in (np.ones((3, 4), np.float32), np.ones((2, 4)), np.full((2, 4), np.nan, np.float32)):
        np.savez(cache.path, keys=keys, vectors=vectors)
        assert VectorCache(tmp_path, "m").was_damaged
    np.savez(cache.path, keys=keys, vectors=np.ones((2, 4), np.float32))
    assert not VectorCache(tmp_path, "m").was_damaged


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    index = DocumentIndex.build(chunks("a"), Letters(), tmp_path / "file" / "cache")
    assert index.search("a", k=1)[0].score == 1.0
    assert "cannot be written" in caplog.text


def test_the_oldest_vectors_go_first(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "m", max_rows=2)
    cache.add({"a": [1.0], "b": [2.0]})
    cache.add({"c": [3.0]})
    assert VectorCache(tmp_path, "m").find(["a", "b", "c"]) == {"a": [1.0], "c": [3.0]}
    cache.add({"d": [4.0, 4.0]})
    assert VectorCache(tmp_path, "m").find(["a", "c", "d"]) == {"d": [4.0, 4.0]}


def test_unusable_vectors_are_refused() -> None:
    class Short(Letters):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts)[1:]

    with pytest.raises(ConfigError, match="1 vectors for 2 texts"):
        DocumentIndex.build(chunks("a", "b"), Short())
    with pytest.raises(ConfigError, match="empty vector"):
        DocumentIndex.build(chunks("a"), Letters(""))
