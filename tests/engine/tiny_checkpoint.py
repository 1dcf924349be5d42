"""A whole checkpoint in a folder: tiny random weights, a byte-level tokenizer and a chat template."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ragcache.model.checkpoint import save_model
from reference.tiny import KINDS, tiny_model

SPECIALS = ["<|endoftext|>", "<|mask|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_checkpoint(folder: Path, max_tokens: int = 256, kind: str = "gqa-bias") -> Path:
    """Answers are nonsense, but always the same; most of its tokens are single bytes."""
    rows = write_tokenizer(folder)
    config = replace(KINDS[kind], embedding_rows=rows, max_tokens=max_tokens, mask_id=1, eos_id=0, pad_id=0)
    model = tiny_model(config)
    for name, weight in model.named_parameters():
        if ".v." in name or ".o." in name:  # what stands elsewhere must change the answer
            weight.mul_(6.0)
    save_model(model, folder)
    return folder


def write_tokenizer(folder: Path) -> int:
    """Write tokenizer and chat template; the number of tokens."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = byte_level, decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=SPECIALS,
        initial_alphabet=[*map(chr, range(33, 127)), "Ġ", "Ċ"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the river is long and the town is old near the harbour "] * 4, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    fields = {
        "bos_token": None,
        "eos_token": SPECIALS[0],
        "mask_token": SPECIALS[1],
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(fields))
    return int(tokenizer.get_vocab_size())
