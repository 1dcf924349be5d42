"""A tiny checkpoint with a tokenizer, a few documents, and a way to run commands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ragcache.cli import main
from ragcache.model.checkpoint import save_model
from reference.tiny import CONFIGS, tiny_model

SPECIALS = ["<|endoftext|>", "<|mask|>"]
WINDOW = 512
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}]\n{{ m['content'] }}\n{% endfor %}[assistant]\n"
TEXTS = {
    "harbour.md": "The harbour of Ostermoor opens at six in the morning.",
    "kettle.md": "The Kavra kettle costs forty crowns and is blue.",
    "lamp.txt": "The Lumora lamp was designed by Ines Calder.",
}


@dataclass(frozen=True)
class Result:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process; what is not an exit is a bug and surfaces."""

    def run(*arguments: object) -> Result:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        code = stopped.value.code
        return Result(code if isinstance(code, int) else 0, out, err)

    return run


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of 512 tokens' window that reads bytes."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=290, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([*TEXTS.values()] * 4, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"eos_token": SPECIALS[0], "mask_token": SPECIALS[1], "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    sizes = replace(CONFIGS["gqa"], embedding_rows=300, max_tokens=WINDOW, eos_id=0, pad_id=0, mask_id=1)
    save_model(tiny_model(sizes), folder)
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text + "\n")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


class WordEmbedder:
    """Counts of words, hashed: as good as any model for these documents, and loaded at once."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = [0.01] * 64
        for word in text.lower().replace("?", "").replace(".", "").split():
            vector[hashlib.md5(word.encode()).digest()[0] % 64] += 1.0
        return vector


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retrieval by words instead of MiniLM."""
    monkeypatch.setattr("ragcache.cli.answering.MiniLMEmbedder", WordEmbedder)
    monkeypatch.setattr("ragcache.cli.evaluating.MiniLMEmbedder", WordEmbedder)
