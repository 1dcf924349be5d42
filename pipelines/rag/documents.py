"""Reading the documents that questions are asked about, as clean text."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from ragcache.errors import DocumentError
from ragcache.pipelines.rag.formats import INSTALL, READ, READERS, extract, missing_package
from ragcache.text import normalise


@dataclass(frozen=True)
class Document:
    """A named text. Names are unique among the documents loaded together."""

    name: str
    text: str


@dataclass(frozen=True)
class Loaded:
    """Documents in the order of the paths, those of a folder sorted by name, and what was passed over."""

    documents: tuple[Document, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Source:
    """A file to read, and the folder its name is relative to."""

    path: Path
    folder: Path


def load_documents(paths: Sequence[Path]) -> Loaded:
    """Read every path: a file, or a folder with its subfolders (hidden ones are skipped).

    Text and Markdown are read as they are; HTML, PDF and Word with the packages of the extra `loaders`.
    Texts get LF line ends and NFC, and lose blanks at line ends and empty lines at either end. A name is the
    posix path below the given folder; equal names get as much of the path above as tells them apart. Other
    kinds of file in a folder, those whose package is missing there, files met twice and documents without
    text are skipped with a warning. Raises DocumentError if a path is missing, a folder holds no such file, a
    file cannot be read or is not UTF-8 text, or no document is left; MissingDependencyError for a file that
    was named and whose package is missing.
    """
    sources: dict[Path, _Source] = {}  # by the real file, so that links and repeated paths give one document
    warnings: list[str] = []
    for path in paths:
        for source in _sources(path, warnings):
            former = sources.setdefault(_real(source.path), source)
            if former is not source:
                warnings.append(f"{source.path}: skipped, it is the same file as {former.path}.")
    documents = []
    for name, source in zip(_names(list(sources.values())), sources.values(), strict=True):
        text = _read(source.path)
        if text.strip():
            documents.append(Document(name, text))
        else:
            warnings.append(f"{source.path}: skipped, it holds no text.")
    if not documents:
        given = ", ".join(map(str, paths)) or "no path was given"
        raise DocumentError(
            f"No document to read ({given}). Name a file with text, or a folder of them; {READ}."
        )
    return Loaded(tuple(documents), tuple(warnings))


def _sources(path: Path, warnings: list[str]) -> list[_Source]:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise DocumentError(f"{path}: no such file or folder. Check the path.") from error
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise DocumentError(f"{path}: cannot be read ({error}). Check the path.") from error
    if stat.S_ISDIR(mode):
        return _folder_sources(path, warnings)
    if path.suffix.lower() not in READERS:
        raise DocumentError(f"{path}: {READ}. Save it as text first.")
    return [_Source(path, path.parent)]


def _folder_sources(folder: Path, warnings: list[str]) -> list[_Source]:
    readable: list[Path] = []
    for path in sorted(_walk(folder)):
        if path.suffix.lower() not in READERS:
            warnings.append(f"{path}: skipped, {READ}.")
        elif package := missing_package(path):
            warnings.append(f"{path}: skipped, reading it needs {package}. Run: {INSTALL}")
        else:
            readable.append(path)
    if not readable:
        raise DocumentError(f"{folder}: no file to read in this folder; {READ}. Check the path.")
    return [_Source(path, folder) for path in readable]


def _walk(folder: Path) -> Iterator[Path]:
    """The files below a folder that are not hidden; each real one is entered once: links cannot loop."""

    def fail(error: OSError) -> None:
        raise DocumentError(
            f"{error.filename}: cannot be read ({error.strerror}). Give access, or name its files."
        ) from error

    entered = set()
    for here, folders, files in os.walk(folder, onerror=fail, followlinks=True):
        real = os.path.realpath(here)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(here, name) for name in files if not name.startswith("."))


def _real(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: how Python < 3.13 reports a link to itself
        raise DocumentError(f"{path}: the link leads nowhere. Remove it, or restore its target.") from error


def _names(sources: Sequence[_Source]) -> list[str]:
    """Names relative to the given folders; clashing ones are extended by parent folders until they differ."""
    absolute = [PurePath(os.path.abspath(source.path)).parts[1:] for source in sources]
    lengths = [len(source.path.relative_to(source.folder).parts) for source in sources]
    while True:
        names = ["/".join(parts[-length:]) for parts, length in zip(absolute, lengths, strict=True)]
        counts = Counter(names)
        clashing = [
            number
            for number, name in enumerate(names)
            if counts[name] > 1 and lengths[number] < len(absolute[number])
        ]
        if not clashing:
            return names
        for number in clashing:
            lengths[number] += 1


def _read(path: Path) -> str:
    try:
        str(path).encode()
        if not path.is_file():
            raise DocumentError(f"{path}: not a regular file. Remove it from the folder.")
        data = path.read_bytes()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"{os.fsencode(path)!r}: this file name is not UTF-8. Rename the file."
        ) from error
    except OSError as error:
        raise DocumentError(
            f"{path}: cannot be read ({error.strerror}). Give access, or leave it out."
        ) from error
    return normalise(extract(data, path)).strip("\n")
