"""Cutting long documents into chunks at headings, paragraphs and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragcache.errors import ConfigError
from ragcache.pipelines.rag.documents import Document

_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r"\s*(```|~~~)(?!.*\1)")
_SPACE = re.compile(r"\s")
_INK = re.compile(r"\S")
_LIST_ITEM = re.compile(r"\s*([-*+•|]|\d+[.)])\s")
# Anchored at the first mark of a run, for a page of dots would take quadratic time.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？]+[”’」』）]*")  # noqa: RUF001
_OPENING_MARKS = "\"'“‘«([*_"  # noqa: RUF001
_TITLES = ("dr", "mr", "mrs", "ms", "prof", "st", "jr", "sr", "gen", "col", "capt", "lt", "rev", "hon")
_REFERENCES = (
    "fig",
    "figs",
    "eq",
    "vol",
    "pp",
    "p",
    "ch",
    "sec",
    "ed",
    "eds",
    "al",
    "vs",
    "cf",
    "approx",
    "ca",
)
_ABBREVIATIONS = frozenset((*_TITLES, *_REFERENCES, "inc", "ltd", "co", "resp"))

# Characters that are searched for the word before a dot; the whole of a long line would take quadratic time.
_LOOK_BACK = 64

# A section shorter than this share of a chunk shares its chunk with the next one.
_SMALL_SECTION = 0.25


@dataclass(frozen=True)
class Chunk:
    """A stretch of a document: `text` occurs in it literally; `document` is the document's name."""

    name: str
    text: str
    document: str


@dataclass(frozen=True)
class _Unit:
    """text[start:end], not to be cut again; `opens` if a heading stands at its head."""

    start: int
    end: int
    opens: bool = False


def chunk(
    document: Document, *, max_chars: int = 1200, hard_max_chars: int | None = None
) -> tuple[Chunk, ...]:
    """Cut a document into chunks of up to `max_chars` characters; only white space between them is dropped.

    A document that fits is one chunk under its own name, else they are "name#1", "name#2", ... Headings stay
    with what follows, and a section begins a new chunk unless the last one is small, so an edit changes the
    chunks of its own section only. A single sentence may be as long as `hard_max_chars` (default: twice
    `max_chars`); a longer one is cut at line ends or spaces. Raises ConfigError if a limit is below 1 or they
    are the wrong way round.
    """
    hard_max_chars = 2 * max_chars if hard_max_chars is None else hard_max_chars
    if not 1 <= max_chars <= hard_max_chars:
        raise ConfigError(
            f"max_chars {max_chars}, hard_max_chars {hard_max_chars}: use 1 <= max_chars <= hard_max_chars."
        )
    text = document.text
    whole = _trimmed(text, 0, len(text))
    if whole.end - whole.start <= max_chars:
        return (Chunk(document.name, text[whole.start : whole.end], document.name),) if text.strip() else ()
    units = [unit for block in _blocks(text) for unit in _cut_block(text, block, max_chars, hard_max_chars)]
    spans = list(_packed(units, max_chars))
    if len(spans) == 1:
        return (Chunk(document.name, text[slice(*spans[0])], document.name),)
    return tuple(
        Chunk(f"{document.name}#{number}", text[slice(*span)], document.name)
        for number, span in enumerate(spans, start=1)
    )


def _packed(units: list[_Unit], max_chars: int) -> Iterator[tuple[int, int]]:
    """Join neighbours while they fit, beginning anew at a heading unless what is there is small."""
    start, end = units[0].start, units[0].end
    for unit in units[1:]:
        is_section = unit.opens and end - start >= max_chars * _SMALL_SECTION
        if is_section or unit.end - start > max_chars:
            yield start, end
            start = unit.start
        end = unit.end
    yield start, end


def _blocks(text: str) -> Iterator[_Unit]:
    """Paragraphs, each with the headings right before it; a fenced block of code is one paragraph."""
    start: int | None = None
    fenced, has_body, opens = False, False, False
    position = 0
    for line in text.splitlines(keepends=True):
        is_fence = bool(_FENCE.match(line))
        is_heading = not fenced and bool(_HEADING.match(line))
        ends_block = not fenced and (not line.strip() or is_heading)
        if start is not None and has_body and ends_block:
            yield _trimmed(text, start, position, opens=opens)
            start = None
        if start is None and line.strip():
            start, has_body, opens = position, False, is_heading
        has_body = has_body or bool(line.strip() and not is_heading)
        fenced ^= is_fence
        position += len(line)
    if start is not None:
        yield _trimmed(text, start, len(text), opens=opens)


def _cut_block(text: str, block: _Unit, max_chars: int, hard_max_chars: int) -> Iterator[_Unit]:
    if block.end - block.start <= max_chars:
        yield block
        return
    for start, end in sentences(text, block.start, block.end):
        pieces = [(start, end)] if end - start <= hard_max_chars else _pieces(text, start, end, max_chars)
        for piece in pieces:
            yield _Unit(*piece, opens=block.opens and piece[0] == block.start)


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Sentences, list items and table rows of text[start:end], without the white space between them."""
    ends = {match.end() for match in _SENTENCE_END.finditer(text, start, end) if _is_end(text, start, match)}
    breaks = (match for match in _SPACE.finditer(text, start, end) if match.group() == "\n")
    ends |= {match.start() for match in breaks if _LIST_ITEM.match(text, match.end(), end)}
    for stop in [*sorted(ends), end]:
        unit = _trimmed(text, start, stop)
        if unit.start < unit.end:
            yield unit.start, unit.end
        start = stop


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    """False for the dots of abbreviations, initials and list numbers, and before a small letter."""
    if match.group()[0] != ".":
        return True
    following = text[match.end() : match.end() + _LOOK_BACK].lstrip()[:1]
    if following.islower():
        return False
    near = max(start, match.start() - _LOOK_BACK)
    line_start = max(text.rfind("\n", near, match.start()) + 1, near)
    words = text[line_start : match.start()].split()
    word = words[-1].lstrip(_OPENING_MARKS) if words else ""
    is_initial = len(word) == 1 and word.isupper()
    is_list_number = word.isdigit() and len(words) == 1
    is_dotted = "." in word and all(len(part) <= 1 and not part.isdigit() for part in word.split("."))
    is_number_sign = word.lower() == "no" and following.isdigit()
    is_short = word.lower() in _ABBREVIATIONS
    return not (is_initial or is_list_number or is_dotted or is_number_sign or is_short)


def _pieces(text: str, start: int, end: int, max_chars: int) -> Iterator[tuple[int, int]]:
    """Pieces of up to `max_chars`, cut at the last line end, else the last space, else anywhere."""
    while end - start > max_chars:
        limit = start + max_chars
        newline = text.rfind("\n", start + max_chars // 2, limit + 1)
        spaces = [match.start() for match in _SPACE.finditer(text, start + 1, limit + 1)]
        stop = newline if newline > start else spaces[-1] if spaces else limit
        piece = _trimmed(text, start, stop)
        if piece.start < piece.end:
            yield piece.start, piece.end
        rest = _INK.search(text, stop, end)
        start = rest.start() if rest else end
    if start < end:
        yield start, end


def _trimmed(text: str, start: int, end: int, *, opens: bool = False) -> _Unit:
    body = text[start:end]
    head = len(body) - len(body.lstrip())
    return _Unit(start + head, max(start + head, start + len(body.rstrip())), opens)
