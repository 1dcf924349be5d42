from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from ragcache.prompt.span_index import SpanIndex


def _find(registered: dict[str, str], text: str) -> list[tuple[str, int, int]]:
    return list(SpanIndex(registered).find(text, 0, len(text)))


def test_leftmost_then_longest() -> None:
    assert _find({"s": "ab", "l": "abc", "r": "bcdef"}, "xabcdef") == [("l", 1, 4)]
    assert _find(
        {"long": "the same head, 16 and on", "short": "the same head, 16"}, "the same head, 16 and off"
    ) == [("short", 0, 17)]


def test_only_whole_texts_inside_the_range() -> None:
    index = SpanIndex({"a": "hello world"})
    text = "hello world, hello worl"
    assert list(index.find(text, 0, len(text))) == [("a", 0, 11)]
    assert list(index.find(text, 1, len(text))) == []
    assert list(index.find(text, 0, 10)) == []


def test_repeats_adjacent_texts_and_equal_texts() -> None:
    assert _find({"a": "xy", "b": "xy"}, "xyxy xy") == [("a", 0, 2), ("a", 2, 4), ("a", 5, 7)]
    assert _find({}, "xy") == _find({"a": ""}, "xy") == []


def test_short_texts_are_ignored() -> None:
    index = SpanIndex({"a": "abc", "e": "éé"})
    assert list(index.find("abc éé", 0, 6, min_bytes=4)) == [("e", 4, 6)]
    assert [name for name, _, _ in index.find("abc éé", 0, 6, min_bytes=3)] == ["a", "e"]


@given(
    st.dictionaries(st.sampled_from("pqrstu"), st.text("ab", min_size=1, max_size=20), max_size=6),
    st.text("ab", max_size=60),
)
def test_like_the_naive_search(registered: dict[str, str], text: str) -> None:
    expected, at = [], 0
    while at < len(text):
        here = [(name, body) for name, body in registered.items() if text.startswith(body, at)]
        name, body = max(here, key=lambda pair: len(pair[1]), default=("", ""))
        if body:
            expected.append((name, at, at + len(body)))
        at += len(body) or 1
    assert _find(registered, text) == expected


def test_thousands_of_texts_in_a_long_prompt() -> None:
    registered = {f"d{i}": f"Document {i:05d} " + "speaks of rivers and towns. " * 40 for i in range(2000)}
    wanted = ["d1999", "d7", "d500", "d7"]
    text = "Question? ".join(registered[name] for name in wanted) + "filler " * 10_000
    begin = time.perf_counter()
    found = _find(registered, text)
    assert [name for name, _, _ in found] == wanted
    assert time.perf_counter() - begin < 2  # searching each text at each position takes minutes
