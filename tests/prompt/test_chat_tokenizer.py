from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcache.errors import CheckpointError, InputError
from ragcache.prompt import ChatTokenizer, Prompt


def _copy(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target / "checkpoint"))


def test_facts(llada: ChatTokenizer, dream: ChatTokenizer) -> None:
    assert (llada.bos_token, llada.eos_token) == ("<|startoftext|>", "<|endoftext|>")
    assert llada.bos_token_id == llada.special_tokens["<|startoftext|>"] == 0
    assert set(llada.special_tokens) >= {"<|mdm_mask|>", "<|eot_id|>"}
    assert (dream.bos_token, dream.bos_token_id) == (None, None)
    assert dream.eos_token_id == dream.special_tokens["<|endoftext|>"]
    assert 256 < llada.vocab_size <= 500


def test_fingerprint_follows_tokenizer_and_template(llada_folder: Path, tmp_path: Path) -> None:
    folder = _copy(llada_folder, tmp_path)
    first = ChatTokenizer.from_folder(folder).fingerprint
    assert first == ChatTokenizer.from_folder(llada_folder).fingerprint
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    second = ChatTokenizer.from_folder(folder).fingerprint
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + "\n")
    assert len({first, second, ChatTokenizer.from_folder(folder).fingerprint}) == 3


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    "damage",
    [
        None,
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        pytest.param(b"[" * 5000, id="nested"),
        pytest.param(b"1" * 5000, id="digits"),
    ],
)
def test_missing_or_damaged_files_are_named(
    llada_folder: Path, tmp_path: Path, name: str, damage: bytes | None
) -> None:
    folder = _copy(llada_folder, tmp_path)
    (folder / name).unlink()
    if damage is not None:
        (folder / name).write_bytes(damage)
    with pytest.raises(CheckpointError, match=name):
        ChatTokenizer.from_folder(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chat_template": "{% if %}"}, "not valid jinja: line 1"),
        ({"chat_template": "{{" + "(" * 900 + "1" + ")" * 900 + "}}"}, "nested too deeply"),
        ({"chat_template": 3}, "must be text"),
        ({"bos_token": "<nowhere>"}, "bos_token is '<nowhere>'"),
    ],
)
def test_a_wrong_config_is_refused(
    llada_folder: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    folder = _copy(llada_folder, tmp_path)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | change))
    with pytest.raises(CheckpointError, match=message) as caught:
        ChatTokenizer.from_folder(folder)
    assert str(folder) in str(caught.value)


def test_specials_are_gathered_from_every_file(llada_folder: Path, tmp_path: Path) -> None:
    folder = _copy(llada_folder, tmp_path)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    for token in tokenizer["added_tokens"]:  # the file itself declares none
        token["special"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = {
        "chat_template": [{"name": "default", "template": "{{ eos_token }}{{ messages[0]['content'] }}"}],
        "additional_special_tokens": ["<|eot_id|>", "<|unheard_of|>"],
        "added_tokens_decoder": {"5": {"content": "<|mdm_mask|>", "special": True}},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "special_tokens_map.json").write_text(json.dumps({"eos_token": "<|endoftext|>"}))
    found = ChatTokenizer.from_folder(folder)
    assert set(found.special_tokens) == {"<|endoftext|>", "<|eot_id|>", "<|mdm_mask|>"}
    assert found.eos_token == "<|endoftext|>"
    ids = set(found.special_tokens.values())
    assert not ids & set(found.encode("<|mdm_mask|><|eot_id|>").ids)


def test_a_special_token_swallows_the_blanks_it_declares(llada_folder: Path, tmp_path: Path) -> None:
    folder = _copy(llada_folder, tmp_path)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    for token in tokenizer["added_tokens"]:
        token["rstrip"] = token["content"] == "<|end_header_id|>"
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    greedy = ChatTokenizer.from_folder(folder)
    rendered = greedy.render(Prompt.user(" town"))
    encoding = greedy.encode_rendered(rendered)
    header = greedy.special_tokens["<|end_header_id|>"]
    ends = [b for token, (_, b) in zip(encoding.ids, encoding.offsets, strict=True) if token == header]
    # The template's newlines are swallowed, the content's blank is not.
    assert ends == [rendered.content_spans[0][0], len(rendered.text)]
    assert greedy.decode(encoding.ids) == "user townassistant"


def test_encode_adds_nothing_and_cuts_nothing_off(tokenizer: ChatTokenizer) -> None:
    text = "The river is long.\n\n" * 20  # the checkpoint's own file asks for 16 tokens at most
    encoding = tokenizer.encode(text)
    assert tokenizer.decode(encoding.ids) == text
    assert "".join(text[a:b] for a, b in encoding.offsets) == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["<|eot_id|>", "<|mdm_mask|>", "<|im_end|>", "é", "😀", " a", "\n"])))
def test_special_text_is_plain_text(tokenizer: ChatTokenizer, pieces: list[str]) -> None:
    text = "".join(pieces)
    ids = tokenizer.encode(text).ids
    assert not set(ids) & set(tokenizer.special_tokens.values())
    assert tokenizer.decode(ids) == text


def test_decode_drops_special_tokens(llada: ChatTokenizer) -> None:
    ids = (llada.special_tokens["<|mdm_mask|>"], *llada.encode("town").ids, llada.eos_token_id or 0)
    assert llada.decode(ids) == "town"


def test_a_lone_surrogate_is_refused(llada: ChatTokenizer) -> None:
    with pytest.raises(InputError, match="surrogate"):
        llada.encode("a\ud800b")


def test_import_is_light() -> None:
    code = "import sys, ragcache.prompt; sys.exit(int(bool({'torch', 'transformers'} & set(sys.modules))))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
