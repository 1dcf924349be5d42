"""Train nano's byte-level BPE tokenizer and write the files a Hugging Face checkpoint has."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from ragcache.evaluation.generators import Split, story

SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|startoftext|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|mdm_mask|>",
)
# LLaDA's turns. The assistant's text starts with a space, so that the first word of an answer is the
# same token as the word inside a sentence it is copied from.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>' }}"
    "{{ ' ' if message['role'] == 'assistant' else '\\n' }}{{ message['content'] }}{{ '<|eot_id|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>' }}{% endif %}"
)
# Letters with their leading space; digits one by one; runs of punctuation; newlines never merge with text.
PATTERN = r" ?\p{L}+| ?\p{N}|[^\S\n]?[^\s\p{L}\p{N}]+|\n+|[^\S\n]+"


def corpus(texts: int, seed: int) -> Iterator[str]:
    """Documents, questions and answers of the training split."""
    rng = random.Random(seed)
    split = Split(names="train", templates="train")
    for _ in range(texts):
        made = story(rng, split)
        yield "\n\n".join(made.docs)
        for qa in made.questions:
            yield f"Question: {qa.question}\n {qa.answer}"


def train_tokenizer(folder: Path, *, vocab_size: int = 4096, texts: int = 12_000, seed: int = 1) -> Tokenizer:
    """Write `tokenizer.json` and `tokenizer_config.json` to `folder`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(texts, seed), trainer)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|startoftext|>",
        "eos_token": "<|endoftext|>",
        "pad_token": "<|endoftext|>",
        "mask_token": "<|mdm_mask|>",
        "additional_special_tokens": ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
        "model_max_length": 2048,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return tokenizer
