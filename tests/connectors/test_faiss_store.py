"""The FAISS vector store: search, upserts, and folders that cannot be trusted."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from ragcache.connectors.faiss_store import AffixFAISS
from ragcache.errors import (
    ConfigError,
    DocumentError,
    StoreDamagedError,
    StoreUnavailableError,
    StoreVersionError,
)

WORDS = ("cat", "dog", "fish")


class WordCounts(Embeddings):
    """How often each of `words` occurs."""

    def __init__(self, words: tuple[str, ...] = WORDS, model_name: str = "counts") -> None:
        self.words = words
        self.model_name = model_name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(text.split().count(word)) for word in self.words]


@pytest.fixture
def store() -> AffixFAISS:
    return AffixFAISS.from_texts(["cat", "dog dog", "fish cat"], WordCounts(), [{"n": 1}, {"n": 2}, {"n": 3}])


@pytest.fixture
def saved(store: AffixFAISS, tmp_path: Path) -> Path:
    store.save_local(tmp_path / "s")
    return tmp_path / "s"


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_scores_are_cosines_nearest_first(store: AffixFAISS) -> None:
    found = store.similarity_search_with_score("cat", k=3)
    assert texts([document for document, _ in found]) == ["cat", "fish cat", "dog dog"]
    assert [score for _, score in found] == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-6)


def test_equal_scores_come_in_the_order_added() -> None:
    store = AffixFAISS.from_texts([f"cat {n}" for n in range(50)], WordCounts())
    assert texts(store.similarity_search("cat", k=10)) == [f"cat {n}" for n in range(10)]


def test_relevance_stays_within_zero_and_one() -> None:
    class Signed(WordCounts):
        def embed_query(self, text: str) -> list[float]:
            return [float(text)]

    store = AffixFAISS.from_texts(["1", "-1"], Signed())
    assert [score for _, score in store.similarity_search_with_relevance_scores("1", k=2)] == [1.0, 0.0]


def test_threshold_and_mmr_retrievers(store: AffixFAISS) -> None:
    store.add_texts(["cat cat"])
    options = {"k": 5, "score_threshold": 0.9}
    near = store.as_retriever(search_type="similarity_score_threshold", search_kwargs=options)
    assert texts(near.invoke("cat")) == ["cat", "cat cat"]
    unlike = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "lambda_mult": 0.0})
    assert texts(unlike.invoke("cat")) == ["cat", "dog dog"]


def test_filter_is_applied_before_k(store: AffixFAISS) -> None:
    found = store.similarity_search("cat", k=1, filter=lambda document: document.metadata["n"] > 1)
    assert texts(found) == ["fish cat"]


def test_ids_follow_from_the_content(store: AffixFAISS) -> None:
    again = AffixFAISS.from_texts(["cat"], WordCounts(), [{"n": 1}])
    assert store.get_by_ids(again._ids) == again.get_by_ids(again._ids)
    store.add_texts(["cat"], [{"n": 1}])
    assert len(store) == 3


def test_upsert_replaces_and_the_last_of_equal_ids_wins(store: AffixFAISS) -> None:
    assert store.add_texts(["cat", "fish", "dog"], ids=["a", "b", "a"]) == ["a", "b", "a"]
    assert texts(store.get_by_ids(["a", "missing", "b"])) == ["dog", "fish"]
    store.add_documents([Document("fish fish", id="a"), Document("no id")])
    assert texts(store.similarity_search("fish", k=2)) == ["fish", "fish fish"]
    assert len(store) == 6


def test_refused_vectors_change_nothing(store: AffixFAISS) -> None:
    name = store.similarity_search("dog", k=1)[0].id
    store.embeddings.words = ("cat", "dog")  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="2 dimensions, the index 3"):
        store.add_texts(["cat"], ids=[name])
    assert texts(store.get_by_ids([name or ""])) == ["dog dog"]


def test_a_returned_document_is_a_copy(store: AffixFAISS) -> None:
    store.similarity_search("cat", k=1)[0].metadata["n"] = 99
    assert store.similarity_search("cat", k=1)[0].metadata == {"n": 1}


def test_delete_all_then_another_dimension(store: AffixFAISS) -> None:
    store.delete()
    assert len(store) == 0
    assert store.similarity_search("cat") == []
    store.embeddings.words = ("cat", "bird")  # type: ignore[attr-defined]
    store.add_texts(["bird"])
    assert texts(store.similarity_search("bird")) == ["bird"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_cannot_be_compared_are_refused(store: AffixFAISS, value: float) -> None:
    with pytest.raises(ConfigError, match="NaN or infinity"):
        store.similarity_search_by_vector([value, 0.0, 0.0])


def test_wrong_use_is_refused(store: AffixFAISS) -> None:
    with pytest.raises(ConfigError, match="k is 0"):
        store.similarity_search("cat", k=0)
    with pytest.raises(ConfigError, match="no option filtre"):
        store.similarity_search("cat", filtre=None)
    with pytest.raises(ConfigError, match="2 texts but 1 ids"):
        store.add_texts(["a", "b"], ids=["1"])
    with pytest.raises(DocumentError, match="not JSON"):
        store.add_texts(["a"], [{"path": Path()}])


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda store: pickle.loads(pickle.dumps(store))])
def test_a_copy_answers_alike_and_lives_its_own_life(
    store: AffixFAISS, again: Callable[[AffixFAISS], AffixFAISS]
) -> None:
    other = again(store)
    assert texts(other.similarity_search("cat fish", k=3)) == texts(store.similarity_search("cat fish", k=3))
    store.add_texts(["fish"])
    other.delete()
    assert (len(store), len(other)) == (4, 0)
    assert texts(store.similarity_search("fish", k=1)) == ["fish"]


def test_threads_add_and_search_together(store: AffixFAISS) -> None:
    def work(number: int) -> None:
        for n in range(20):
            store.add_texts([f"dog {number} {n}"], ids=[f"{number}-{n % 5}"])
            store.similarity_search("dog", k=3)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store) == len(store._index) == 3 + 4 * 5


def test_saved_store_answers_alike(store: AffixFAISS, saved: Path) -> None:
    loaded = AffixFAISS.load_local(saved, WordCounts())
    assert loaded.similarity_search_with_score("cat fish", k=3) == store.similarity_search_with_score(
        "cat fish", k=3
    )
    loaded.add_texts(["dog"])
    assert len(loaded) == 4


def test_an_empty_store_can_be_saved(tmp_path: Path) -> None:
    AffixFAISS(WordCounts()).save_local(tmp_path)
    loaded = AffixFAISS.load_local(tmp_path, WordCounts())
    loaded.add_texts(["dog"])
    assert texts(loaded.similarity_search("dog")) == ["dog"]


def test_saving_again_leaves_only_the_new_files(store: AffixFAISS, saved: Path) -> None:
    store.add_texts(["dog"], ids=["new"])
    store.save_local(saved)
    assert len([path for path in saved.iterdir() if not path.name.startswith(".")]) == 3
    assert len(AffixFAISS.load_local(saved, WordCounts())) == 4


def test_a_save_that_fails_keeps_the_former_state(
    store: AffixFAISS, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "I/O error")

    monkeypatch.setattr("os.fsync", fail)
    store.delete()
    with pytest.raises(StoreUnavailableError, match="I/O error"):
        store.save_local(saved)
    assert len(AffixFAISS.load_local(saved, WordCounts())) == 3


@pytest.mark.parametrize("pattern", ["index-*.faiss", "documents-*.json"])
@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-2] + b"00", lambda data: b""])
def test_a_changed_file_is_refused_before_it_is_read(
    saved: Path, pattern: str, damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faiss.deserialize_index", lambda _: pytest.fail("read before it was verified"))
    path = next(saved.glob(pattern))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreDamagedError, match="digest"):
        AffixFAISS.load_local(saved, WordCounts())


def test_a_missing_file_is_refused(saved: Path) -> None:
    next(saved.glob("index-*.faiss")).unlink()
    with pytest.raises(StoreDamagedError, match="is missing"):
        AffixFAISS.load_local(saved, WordCounts())


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "files": {"../x": "y"}}'])
def test_a_changed_manifest_is_refused(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_text(text)
    with pytest.raises(StoreDamagedError, match=r"manifest\.json"):
        AffixFAISS.load_local(saved, WordCounts())


def test_files_of_two_saves_are_refused(store: AffixFAISS, saved: Path, tmp_path: Path) -> None:
    store.add_texts(["dog"], ids=["new"])
    store.save_local(tmp_path / "other")
    other = json.loads((tmp_path / "other" / "manifest.json").read_text())
    mixed = json.loads((saved / "manifest.json").read_text())
    mixed["files"]["documents.json"] = other["files"]["documents.json"]
    (saved / "manifest.json").write_text(json.dumps(mixed))
    for path in (tmp_path / "other").glob("documents-*.json"):
        (saved / path.name).write_bytes(path.read_bytes())
    with pytest.raises(StoreDamagedError, match="do not belong together"):
        AffixFAISS.load_local(saved, WordCounts())


def test_another_embedding_model_or_a_newer_format_is_refused(saved: Path) -> None:
    with pytest.raises(ConfigError, match="built with WordCounts:counts"):
        AffixFAISS.load_local(saved, WordCounts(model_name="other"))
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps(manifest | {"format": 2}))
    with pytest.raises(StoreVersionError, match="upgrade"):
        AffixFAISS.load_local(saved, WordCounts())


def test_a_folder_without_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="nothing was saved"):
        AffixFAISS.load_local(tmp_path, WordCounts())
