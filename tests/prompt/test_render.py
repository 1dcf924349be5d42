from __future__ import annotations

from collections.abc import Callable

import pytest

from ragcache.errors import CheckpointError, InputError
from ragcache.prompt import Affix, ChatTokenizer, Message, Prompt, Rendered

Build = Callable[[str | None], ChatTokenizer]
DOC = Affix("doc", "The river is long.")
TRIM = "{% for m in messages %}[{{ m.role }}] {{ m.content | trim }}<|eot_id|>{% endfor %}"


def _marked(rendered: Rendered) -> list[str]:
    return [rendered.text[span.start : span.end] for span in rendered.affix_spans]


def _contents(rendered: Rendered) -> list[str]:
    return [rendered.text[a:b] for a, b in rendered.content_spans]


def test_llada_turns(llada: ChatTokenizer) -> None:
    rendered = llada.render(Prompt.user("Where?", system="Be brief."))
    assert rendered.text == (
        "<|startoftext|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nWhere?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    assert _contents(rendered) == ["Be brief.", "Where?"]


def test_chatml_has_a_default_system_turn(dream: ChatTokenizer) -> None:
    rendered = dream.render(Prompt.user("Where?"))
    assert rendered.text == (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\nWhere?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert _contents(rendered) == ["Where?"]
    assert "helpful" not in dream.render(Prompt.user("Where?", system="Be brief.")).text


def test_any_history_is_rendered(tokenizer: ChatTokenizer) -> None:
    roles = ["system", "system", "user", "assistant", "planner", "user", "assistant"]
    prompt = Prompt.chat(*(Message(role, (f"turn {i}",)) for i, role in enumerate(roles)))
    rendered = tokenizer.render(prompt)
    assert _contents(rendered) == [f"turn {i}" for i in range(7)]
    assert "planner" in rendered.text


@pytest.mark.parametrize(
    "content", ["user", "s", "", "\n", "<|im_end|>", "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"]
)
def test_contents_that_also_stand_in_the_template(tokenizer: ChatTokenizer, content: str) -> None:
    rendered = tokenizer.render(Prompt.user(content, "|", Affix("a", "user"), system=(content,)))
    assert _contents(rendered) == [content, content + "|user"]
    (span,) = rendered.affix_spans
    assert (span.start, span.end) == (rendered.content_spans[1][1] - 4, rendered.content_spans[1][1])


def test_a_stripping_template_keeps_the_marks(with_template: Build) -> None:
    padded = Affix("padded", " \n The town is old. ")
    rendered = with_template(TRIM).render(Prompt.user(padded, DOC, " \n", system=("  ", DOC)))
    assert _marked(rendered) == [DOC.text, "The town is old. ", DOC.text]
    assert [span.cut for span in rendered.affix_spans] == [0, 3, 0]
    assert rendered.skipped == ()


def test_a_mark_on_changed_content_is_skipped(with_template: Build) -> None:
    template = (
        "{% for m in messages %}{{ m.content | upper if m.role == 'user' else m.content }}"
        "<|eot_id|>{% endfor %}"
    )
    rendered = with_template(template).render(Prompt.user(DOC, "<|eot_id|>", system=DOC))
    assert [span.start for span in rendered.affix_spans] == [0]
    assert _contents(rendered)[1].startswith("THE RIVER")
    (skipped,) = rendered.skipped
    assert (skipped.name, skipped.start) == ("doc", rendered.content_spans[1][0])
    assert "changed" in skipped.reason


def test_a_message_left_out_or_repeated(with_template: Build) -> None:
    twice = with_template("{{ messages[-1].content }}<|eot_id|>{{ messages[-1].content }}")
    rendered = twice.render(Prompt.user("See: ", DOC, system=DOC))
    assert _marked(rendered) == [DOC.text, DOC.text]
    assert [(mark.name, "left" in mark.reason) for mark in rendered.skipped] == [("doc", True)]


def test_a_template_that_looks_at_contents_is_still_followed(with_template: Build) -> None:
    template = (
        "{% for m in messages %}{% if 'river' in m.content %}<|eot_id|>{% endif %}"
        "{{ m.content.split('</think>')[-1] }}\n{% endfor %}"
    )
    rendered = with_template(template).render(
        Prompt.chat(Message("assistant", ("hm</think>yes",)), Message("user", ("x", Affix("a", "town"))))
    )
    assert _contents(rendered) == ["yes", "xtown"]
    assert _marked(rendered) == ["town"]


def test_a_template_that_is_no_frame(with_template: Build) -> None:
    tokenizer = with_template(
        "{% for m in messages | sort(attribute='content') %}{{ m.content }}<|eot_id|>{% endfor %}"
    )
    prompt = Prompt.chat(Message("user", ("b", DOC)), Message("user", ("a",)))
    rendered = tokenizer.render(prompt)
    assert rendered.text == f"a<|eot_id|>b{DOC.text}<|eot_id|>"
    assert not rendered.content_spans
    assert not rendered.affix_spans
    assert "rearranged" in rendered.skipped[0].reason
    with pytest.raises(InputError, match="control token"):
        tokenizer.render(Prompt.chat(Message("user", ("b <|eot_id|>",)), Message("user", ("a",))))


def test_a_template_may_refuse_the_messages(with_template: Build) -> None:
    tokenizer = with_template("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(InputError, match="roles must alternate"):
        tokenizer.render(Prompt.user("x"))


@pytest.mark.parametrize(
    "template",
    [
        "{{ 1 / 0 }}",
        "{{ none + 'x' }}",
        "{{ nowhere.field }}",
        "{{ messages.append(1) }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        " {# nobody's message #} ",
        "{{ x|nofilter }}",
    ],
)
def test_a_broken_template_is_a_checkpoint_error(with_template: Build, template: str) -> None:
    with pytest.raises(CheckpointError, match="template"):
        with_template(template).render(Prompt.user("x"))


def test_a_template_cannot_leave_the_sandbox(with_template: Build) -> None:
    with pytest.raises(CheckpointError):
        with_template("{{ ''.__class__.__mro__[1].__subclasses__() }}").render(Prompt.user("x"))


def test_template_conventions(with_template: Build) -> None:
    template = (
        "{{ bos_token }}{{ strftime_now('%Y')|length }}{{ {'q': \"it's <b>\"}|tojson }}"
        "{% generation %}{{ messages[0].content }}{% endgeneration %}"
        "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}"
    )
    rendered = with_template(template).render(Prompt.user("x"))
    assert rendered.text == '<|startoftext|>4{"q": "it\'s <b>"}x01'
    assert _contents(rendered) == ["x"]


def test_without_a_template_contents_are_joined(with_template: Build) -> None:
    rendered = with_template(None).render(Prompt.user("a <|eot_id|>", DOC, system="s"))
    assert rendered.text == f"s\n\na <|eot_id|>{DOC.text}"
    assert _contents(rendered) == ["s", f"a <|eot_id|>{DOC.text}"]
    assert _marked(rendered) == [DOC.text]


def test_a_raw_prompt_sees_no_template(llada: ChatTokenizer) -> None:
    rendered = llada.render(Prompt.plain("Once <|eot_id|> ", DOC))
    assert rendered.text == f"Once <|eot_id|> {DOC.text}"
    assert _contents(rendered) == [rendered.text]
    assert _marked(rendered) == [DOC.text]
