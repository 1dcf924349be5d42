from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcache.errors import InputError
from ragcache.prompt import Affix, Message, Prompt, normalise


@pytest.mark.parametrize(("name", "text"), [("", "text"), ("name", ""), ("name", " \n\t")])
def test_an_affix_needs_name_and_text(name: str, text: str) -> None:
    with pytest.raises(InputError):
        Affix(name, text)


def test_marks_know_their_place_in_the_text() -> None:
    a, b = Affix("a", "one"), Affix("b", "two")
    message = Message("user", ("x ", a, "", b, " y"))
    assert message.text == "x onetwo y"
    assert message.marks == ((a, 2), (b, 5))


@pytest.mark.parametrize("role", ["", "<|eot_id|>", "user<|eot_id|>", "user\n", " user", "[INST]"])
def test_a_role_cannot_spell_a_control_token(role: str) -> None:
    with pytest.raises(InputError, match="Role"):
        Message(role, ("x",))


@pytest.mark.parametrize("role", ["user", "tool", "agent 2", "über-agent", "x", "node:planner"])
def test_unknown_roles_are_the_templates_business(role: str) -> None:
    assert Message(role, ("x",)).role == role


@pytest.mark.parametrize("content", ["a plain string", ["a"], (1,)])
def test_content_must_be_a_tuple_of_parts(content: object) -> None:
    with pytest.raises(InputError, match="tuple"):
        Message("user", content)  # type: ignore[arg-type]


def test_prompts() -> None:
    a = Affix("a", "one")
    prompt = Prompt.user(a, "why?", a, system="Be brief.")
    assert [m.role for m in prompt.messages] == ["system", "user"]
    assert prompt.messages[0].text == "Be brief."
    assert prompt.affixes == (a, a)
    assert Prompt.user("x", system=(a, "y")).affixes == (a,)
    assert Prompt.chat(Message("user", ("x",))) == Prompt.user("x")
    assert Prompt.plain("x").raw


def test_a_prompt_needs_messages_and_raw_text_is_one() -> None:
    with pytest.raises(InputError, match="at least one"):
        Prompt.chat()
    with pytest.raises(InputError, match="2 messages"):
        Prompt((Message("user", ("x",)), Message("user", ("y",))), raw=True)


def test_normalise() -> None:
    assert normalise("a \t\r\nb\rcafe\u0301  \n\n  d ") == "a\nb\ncaf\u00e9\n\n  d"


@given(st.text())
def test_normalise_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert "\r" not in once
    assert unicodedata.is_normalized("NFC", once)
