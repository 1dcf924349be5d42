"""Exact search for registered texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

_HEAD = 16  # characters that must agree before whole texts are compared


class SpanIndex:
    """Finds whole registered texts; the time does not grow with how many there are.

    `registered` maps names to texts. Texts under `min_bytes` of UTF-8 are ignored; of two equal
    texts the first name counts.
    """

    def __init__(self, registered: Mapping[str, str], min_bytes: int = 1) -> None:
        names: dict[str, str] = {}
        for name, text in registered.items():
            if text and len(text.encode(errors="replace")) >= min_bytes:
                names.setdefault(text, name)
        heads: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for text in sorted(names, key=len, reverse=True):
            heads[min(len(text), _HEAD)][text[:_HEAD]].append(text)
        self._names = names
        # A text behind a shorter head is shorter than any behind a longer one: the first hit is longest.
        self._heads = sorted(heads.items(), reverse=True)

    def find(self, text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        """`(name, start, end)` of the disjoint matches in `text[start:end]`, leftmost, then longest."""
        at = start
        while self._names and at < end:
            found = self._at(text, at, end)
            if found:
                yield self._names[found], at, at + len(found)
            at += len(found) or 1

    def _at(self, text: str, at: int, end: int) -> str:
        for length, texts in self._heads:
            for candidate in texts.get(text[at : at + length], ()):
                if at + len(candidate) <= end and text.startswith(candidate, at):
                    return candidate
        return ""
