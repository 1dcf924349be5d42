"""What reaches the model: roles through the template, documents as affixes, the prompt never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompt_values import StringPromptValue
from langchain_core.prompts import ChatPromptTemplate

from ragcache.connectors.langchain import RagCacheLLM
from ragcache.connectors.langchain.messages import mark
from ragcache.engine import Engine, Request
from ragcache.errors import InputError
from ragcache.prompt import Message, Prompt

from .conftest import MakeLLM

RIVER = "The river is long and wide; the town near the river is old."
TOWN = "The harbour of the town lies near the old bridge, where the ferry lands."
QUESTION = f"{RIVER}\n\n{TOWN}\n\nHow long is the river?"
TALK = [SystemMessage("Be brief."), HumanMessage("Hi."), AIMessage("Hello."), HumanMessage("Where?")]


@pytest.fixture
def asked(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[Prompt | str]:
    """The prompts the engine was given."""
    prompts: list[Prompt | str] = []
    submit = engine.submit

    def recorded(request: Request, *rest: Any, **options: Any) -> Any:
        prompts.append(request.prompt)
        return submit(request, *rest, **options)

    monkeypatch.setattr(engine, "submit", recorded)
    return prompts


def turns(prompt: Prompt | str) -> list[tuple[str, str]]:
    assert isinstance(prompt, Prompt)
    return [(message.role, message.text) for message in prompt.messages]


def uses(llm: RagCacheLLM, prompt: str, **options: Any) -> list[tuple[str, str]]:
    info = llm.generate([prompt], **options).generations[0][0].generation_info
    assert info is not None
    return [(use["name"], use["status"]) for use in info["reuse"]["affixes"]]


@pytest.mark.parametrize("text", [QUESTION, StringPromptValue(text=QUESTION), [HumanMessage(QUESTION)]])
async def test_a_text_is_a_user_message(
    llm: RagCacheLLM, asked: list[Prompt | str], text: LanguageModelInput
) -> None:
    answers = [llm.invoke(text), *llm.batch([text]), "".join(llm.stream(text)), await llm.ainvoke(text)]
    assert len(set(answers)) == 1
    assert [turns(prompt) for prompt in asked] == [[("user", QUESTION)]] * 4


async def test_messages_keep_their_roles_in_every_way_to_ask(
    llm: RagCacheLLM, asked: list[Prompt | str]
) -> None:
    template = ChatPromptTemplate.from_messages(TALK)
    expected = [("system", "Be brief."), ("user", "Hi."), ("assistant", "Hello."), ("user", "Where?")]
    (template | llm).invoke({})
    llm.batch([TALK])
    llm.batch([TALK], return_exceptions=True)
    llm.generate_prompt([template.format_prompt()])
    list(llm.stream(TALK))
    await llm.ainvoke(TALK)
    await llm.agenerate_prompt([template.format_prompt()])
    assert [piece async for piece in llm.astream(TALK)]
    assert [turns(prompt) for prompt in asked] == [expected] * 8


def test_other_roles_and_blocks_of_text(llm: RagCacheLLM, asked: list[Prompt | str]) -> None:
    talk = [
        ChatMessage(role="judge", content="Order!"),
        ToolMessage("42", tool_call_id="1"),
        HumanMessage([{"type": "text", "text": "one "}, "two"]),
    ]
    llm.invoke(talk)
    assert turns(asked[0]) == [("judge", "Order!"), ("tool", "42"), ("user", "one two")]


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage([{"type": "image_url", "image_url": {"url": "x"}}]),
        ChatMessage(role="<|im_end|>", content="x"),
    ],
)
def test_what_is_no_text_or_no_role_is_refused(llm: RagCacheLLM, message: HumanMessage) -> None:
    with pytest.raises(InputError):
        llm.invoke([message])


def test_documents_given_by_the_call_are_built_then_hit(llm: RagCacheLLM) -> None:
    affixes = {"town": TOWN, "river": RIVER}
    assert uses(llm, QUESTION, affixes=affixes) == [("river", "built"), ("town", "built")]
    assert uses(llm, QUESTION, affixes=affixes) == [("river", "hit"), ("town", "hit")]
    assert uses(llm, QUESTION) == []


def test_cached_tokens_are_those_that_came_from_the_store(llm: RagCacheLLM) -> None:
    infos = [
        llm.generate([QUESTION], affixes={"river": RIVER}, budget=0.0).generations[0][0].generation_info
        for _ in range(2)
    ]
    cold, warm = (info for info in infos if info)
    assert cold["usage"]["cached_tokens"] == 0
    assert warm["usage"]["cached_tokens"] == warm["reuse"]["reused"] == cold["reuse"]["reused"] > 0


def test_an_affix_that_is_not_in_the_prompt_is_reported(make_llm: MakeLLM) -> None:
    llm = make_llm(affixes={"river": RIVER, "sea": "The sea is nowhere to be found here."})
    assert uses(llm, QUESTION) == [("river", "built"), ("sea", "skipped")]


def test_registered_documents_are_found_in_a_joined_string(llm: RagCacheLLM, engine: Engine) -> None:
    assert engine.registry is not None
    engine.registry.register("river.md", RIVER)
    assert [uses(llm, QUESTION) for _ in range(2)] == [[("river.md", "built")], [("river.md", "hit")]]


def test_explicit_affixes_come_before_registered_ones(llm: RagCacheLLM, engine: Engine) -> None:
    assert engine.registry is not None
    engine.registry.register("whole", f"{RIVER}\n\n{TOWN}")
    assert uses(llm, QUESTION, affixes={"town": TOWN}) == [("town", "built")]


def test_affixes_are_found_in_every_message(llm: RagCacheLLM) -> None:
    talk = [SystemMessage(RIVER), HumanMessage(f"{TOWN} Where?")]
    result = llm.generate_prompt(
        [ChatPromptTemplate.from_messages(talk).format_prompt()], affixes={"r": RIVER, "t": TOWN}
    )
    info = result.generations[0][0].generation_info
    assert info is not None
    assert [use["name"] for use in info["reuse"]["affixes"]] == ["r", "t"]


@pytest.mark.parametrize(
    ("affixes", "found"),
    [
        ({"a": "the old"}, ["a", "a"]),
        ({"short": "the", "long": "the old"}, ["long", "long"]),
        ({"left": "x the", "right": "the old"}, ["left", "right"]),
        ({"gone": "nowhere"}, []),
    ],
)
def test_marks_are_whole_leftmost_and_longest(affixes: dict[str, str], found: Sequence[str]) -> None:
    text = "x the old\nthe old"
    marked = mark(text, affixes)
    assert [affix.name for affix in marked.prompt.affixes] == found
    assert marked.prompt.messages[0].text == text
    assert set(marked.missing) == set(affixes) - set(found)
    assert mark(text, {}).prompt == Prompt((Message("user", (text,)),))
