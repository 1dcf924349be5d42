"""Exact search for registered texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

_HEAD = 16  # characters that must agree before whole texts are compared


class SpanIndex:
    """Finds whole registered texts; the time does not grow with how many there are. Never changes.

    `registered` maps names to texts; of two equal texts the first name counts.
    """

    def __init__(self, registered: Mapping[str, str]) -> None:
        names: dict[str, str] = {}
        for name, text in registered.items():
            if text:
                names.setdefault(text, name)
        heads: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for text in sorted(names, key=len, reverse=True):
            heads[min(len(text), _HEAD)][text[:_HEAD]].append(text)
        self._names = names
        self._bytes = {text: len(text.encode(errors="replace")) for text in names}
        # A text behind a shorter head is shorter than any behind a longer one: the first hit is longest.
        self._heads = sorted(heads.items(), reverse=True)

    def find(self, text: str, start: int, end: int, min_bytes: int = 1) -> Iterator[tuple[str, int, int]]:
        """`(name, start, end)` of the disjoint matches in `text[start:end]`, leftmost, then longest.

        Texts under `min_bytes` of UTF-8 are ignored.
        """
        at = start
        while self._names and at < end:
            found = self._at(text, at, end, min_bytes)
            if found:
                yield self._names[found], at, at + len(found)
            at += len(found) or 1

    def _at(self, text: str, at: int, end: int, min_bytes: int) -> str:
        for length, texts in self._heads:
            for candidate in texts.get(text[at : at + length], ()):
                fits = at + len(candidate) <= end and self._bytes[candidate] >= min_bytes
                if fits and text.startswith(candidate, at):
                    return candidate
        return ""


NOTHING = SpanIndex({})
