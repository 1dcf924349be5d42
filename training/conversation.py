"""A conversation about one story, as token ids: several questions in turn, or each as a branch of its own."""

from __future__ import annotations

from dataclasses import replace

from tokenizers import Tokenizer

from ragcache.evaluation.generators import QA, Story
from training.masking import Sequence
from training.pointers import Pointers, Turn


class ChatFormat:
    """Turns in LLaDA's chat template."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        ids = tokenizer.get_vocab()
        self.bos, self.eos, self.eot = ids["<|startoftext|>"], ids["<|endoftext|>"], ids["<|eot_id|>"]
        self.mask = ids["<|mdm_mask|>"]
        self.start_header, self.end_header = ids["<|start_header_id|>"], ids["<|end_header_id|>"]

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def header(self, role: str) -> list[int]:
        """What opens a turn."""
        return [self.start_header, *self.encode(role), self.end_header]

    def turn(self, ids: list[int], role: str, text: str) -> Turn:
        """Append a turn to `ids`."""
        ids += self.header(role)
        turn = Turn(len(ids), self.tokenizer.encode("\n" + text, add_special_tokens=False), "\n" + text)
        ids += [*turn.encoding.ids, self.eot]
        return turn


class Conversation:
    """Being written: at most `tokens` token ids, answers on canvases, where heads are to look."""

    def __init__(self, chat: ChatFormat, made: Story, tokens: int, *, branched: bool) -> None:
        self.chat, self.made, self.tokens, self.branched = chat, made, tokens, branched
        self.ids = [chat.bos]
        self.documents: Turn | None = None
        self.sequence = Sequence(self.ids, [], {})
        self.pointers = Pointers()
        self._prompt_start = self._shared = self._branch_start = 0

    def system(self, text: str) -> None:
        """Begin with a system prompt."""
        turn = self.chat.turn(self.ids, "system", text)
        self.sequence.affixes.append(turn.tokens(1, len(text)))

    @property
    def asks_whole(self) -> bool:
        """Whether the next question comes with the documents."""
        return self.branched or self.documents is None

    def ask(self, qa: QA, text: str) -> int:
        """Put a question; the room for its answer in tokens, or 0 when it does not fit and is left out."""
        start, content = len(self.ids), self.chat.encode(" " + qa.answer)
        asked = self.ids[: self._prompt_start] if self._shared else list(self.ids)
        turn = self.chat.turn(asked, "user", text)
        asked += self.chat.header("assistant")
        if self._shared:  # the documents are there already: what follows them is moved to the end
            asked = self.ids + asked[self._shared :]
            turn = replace(turn, start=turn.start + start - self._shared, first=start)
        room = self.tokens - len(asked)
        if room < len(content) + 1:
            return 0
        if self.documents is None:
            self._prompt_start, start = start, self._read(turn)
            self.documents = replace(turn, stop=start) if self.branched else turn
        self.ids[:] = asked
        self._branch_start = start
        self.pointers.asked(
            range(len(self.ids), len(self.ids) + len(content)), qa, turn, self.documents, content
        )
        return room

    def answer(self, text: str, room: int, *, spare: int = 0, canvas: int = 0) -> None:
        """Append an answer, its end, and end tokens: `spare` ones, up to `canvas`, within the `room`."""
        start, told = len(self.ids), [*self.chat.encode(" " + text), self.chat.eot]
        length = min(max(len(told) + spare, canvas), room)
        self.ids += told + [self.chat.eos] * (length - len(told))
        self.sequence.canvases.append((start, len(self.ids)))
        if self.branched:
            self.sequence.branches.append((self._branch_start, len(self.ids)))

    def written(self) -> Sequence | None:
        """The sequence, or None when no question fitted."""
        return replace(self.sequence, targets=self.pointers.targets) if self.sequence.canvases else None

    def _read(self, turn: Turn) -> int:
        """Note where the documents stand; where the first branch begins."""
        self.pointers.told(turn, self.made)
        for doc in self.made.docs:
            self.sequence.affixes.append(turn.tokens(turn.text.find(doc), len(doc)))
        end = self.sequence.affixes[-1][-1] + 1
        if self.branched:
            self._shared = end
        return end
