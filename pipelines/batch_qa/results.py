"""The output file of a batch: one row a line, written as it is known, gone on with after an interruption."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ragcache.closing import Closing
from ragcache.errors import ConfigError, InputError
from ragcache.evaluation.exclusive import exclusive

Row = Mapping[str, Any]


class Results(Closing):
    """Rows of one file, opened by one process at a time. Every row says which model gave it.

    With `resume` finished rows stay and are skipped, failed ones are dropped so that they are tried again,
    and a last line that was cut off is taken out. Without it the file must not exist, or `overwrite` be set.
    Raises `ConfigError` for a file that may not be written, `InputError` for one that holds something else
    or another model's answers.
    """

    def __init__(
        self, path: Path, *, model: str, fingerprint: str, resume: bool = False, overwrite: bool = False
    ) -> None:
        self.path, self.model, self.fingerprint = path, model, fingerprint
        if resume and overwrite:
            raise ConfigError("--resume and --overwrite exclude each other; give one")
        if path.exists() and not (resume or overwrite):
            raise ConfigError(f"{path}: exists already; use --resume to go on, or --overwrite")
        self._open = ExitStack()
        try:
            self._open.enter_context(exclusive(path, "batch", ConfigError))
            rows = self._rows() if resume and path.exists() else []
            kept = [row for row in rows if row["error"] is None]
            self.finished = frozenset(str(row["custom_id"]) for row in kept)
            self._rewrite(kept)
            self._file = self._open.enter_context(path.open("ab"))
        except OSError as error:
            self._open.close()
            raise ConfigError(f"{path}: cannot be written ({error.strerror}); choose another file") from error
        except BaseException:
            self._open.close()
            raise

    def write(self, row: Row) -> None:
        """Append a row, whole or not at all, past this process's buffers. Raises `ConfigError`."""
        stamped = {**row, "model": self.model, "fingerprint": self.fingerprint}
        start = self._file.tell()
        try:
            self._file.write(_line(stamped))
            self._file.flush()
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(start)
            raise ConfigError(f"{self.path}: cannot be written ({error.strerror}); free some room") from error

    def close(self) -> None:
        """Let others open the file; may be called twice."""
        self._open.close()

    def _rows(self) -> list[dict[str, Any]]:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]  # what follows was cut off while it was written
        return [self._row(line, number) for number, line in enumerate(whole.splitlines(), 1) if line.strip()]

    def _row(self, line: bytes, number: int) -> dict[str, Any]:
        where = f"{self.path}, line {number}"
        try:
            row = json.loads(line)
            made_by, _, _ = row["fingerprint"], row["custom_id"], row["error"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{where}: not a row of a batch ({error}); choose another file") from error
        if made_by != self.fingerprint:
            raise InputError(
                f"{where}: answered by {row.get('model')!r}, this is {self.model!r}; answers of two models "
                "are not mixed: choose another file"
            )
        found: dict[str, Any] = row
        return found

    def _rewrite(self, rows: Iterable[Row]) -> None:
        """The file with `rows` alone, replaced in one rename."""
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(b"".join(map(_line, rows)))
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)


def _line(row: Row) -> bytes:
    return json.dumps(row, allow_nan=False).encode() + b"\n"
