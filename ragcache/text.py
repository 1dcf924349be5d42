"""Text as ragcache keeps it: what is registered and what stands in a prompt must compare equal."""

from __future__ import annotations

import unicodedata


def normalise(text: str) -> str:
    r"""Text as it should be kept: `\n` line ends, NFC, no blanks at the end of a line.

    For ingest only: the registry's text and the prompt's text must be made equal before they are
    compared, and nothing is changed afterwards.
    """
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    # No regular expression: a long run of blanks within a line would take it quadratic time.
    return "\n".join(line.rstrip(" \t") for line in lines.split("\n"))
