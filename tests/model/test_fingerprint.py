"""The fingerprint is remembered for files that do not change, and for those alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ragcache.model.fingerprint as module
from ragcache.model.checkpoint import save_model
from ragcache.model.config_file import read_config
from ragcache.model.fingerprint import fingerprint, notes_folder
from ragcache.model.weights import SINGLE
from reference.tiny import tiny_model

FORGED = "f" * 32


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint that is large enough to be remembered, as far as the code knows."""
    monkeypatch.setenv("RAGCACHE_FINGERPRINTS", str(tmp_path / "notes"))
    monkeypatch.setattr(module, "REMEMBERED_FROM_BYTES", 1)
    save_model(tiny_model(), tmp_path / "model")
    return tmp_path / "model"


def of(folder: Path) -> str:
    return fingerprint(folder, read_config(folder))


def forge() -> None:
    """What is remembered is changed, to see whether it is used."""
    [note] = notes_folder().iterdir()
    note.write_text(json.dumps(json.loads(note.read_text()) | {"fingerprint": FORGED}))


def test_it_is_computed_once(folder: Path) -> None:
    assert of(folder) != FORGED
    forge()
    assert of(folder) == FORGED


def test_a_changed_file_is_hashed_again(folder: Path) -> None:
    before = of(folder)
    forge()
    weights = (folder / SINGLE).read_bytes()
    (folder / SINGLE).write_bytes(weights)  # the same bytes, at another time
    assert of(folder) == before
    (folder / SINGLE).write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    assert of(folder) not in (before, FORGED)


def test_a_changed_config_is_hashed_again(folder: Path) -> None:
    before = of(folder)
    forge()
    raw = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(raw | {"rope_theta": 5e5}))
    assert of(folder) not in (before, FORGED)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fingerprint": 3}', "[" * 5000])
def test_a_damaged_note_is_computed_anew(folder: Path, text: str) -> None:
    before = of(folder)
    [note] = notes_folder().iterdir()
    note.write_text(text)
    assert of(folder) == before


def test_a_note_that_cannot_be_written_costs_nothing_but_time(folder: Path) -> None:
    notes_folder().write_text("a file where the folder should be")
    assert of(folder) == of(folder)


def test_small_checkpoints_leave_no_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_FROM_BYTES", 2**40)
    of(folder)
    assert not notes_folder().exists()
