"""The scaffold of contextual affixes: what usually stands around a document."""

from __future__ import annotations

from ragcache.decoding.encode import ALONE, Scaffold
from ragcache.engine.loaded_model import LoadedModel
from ragcache.prompt import Affix, Prompt, tokenize

QUESTION = "\n\nQuestion: What do the documents say?"
MASKS = 16
_PLACE = Affix("scaffold", "The document stands here.")


def system_text(prompt: Prompt | str) -> str:
    """The text of the prompt's system turn, "" when it has none."""
    if isinstance(prompt, str):
        return ""
    return "".join(message.text for message in prompt.messages if message.role == "system")


def scaffold_for(prompt: Prompt | str, model: LoadedModel) -> Scaffold:
    """The prompt's system turn before the affix; a neutral question and a masked canvas after it.

    None of it with a template in which no affix can be located: such prompts reuse nothing either.
    """
    system = system_text(prompt)
    around = Prompt.user(_PLACE, QUESTION, system=system or None)
    tokenized = tokenize(around, model.tokenizer, min_tokens=1)
    span = next((span for span in tokenized.spans if span.name == _PLACE.name), None)
    if span is None:
        return ALONE
    ids = tuple(tokenized.token_ids)
    masks = (model.predictor.config.mask_id,) * MASKS
    return Scaffold(ids[: span.start], ids[span.start + span.tokens :] + masks)
