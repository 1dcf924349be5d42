"""From the bytes of a file to text, by its suffix; HTML and Word become Markdown and keep their structure."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from ragcache.errors import DocumentError, MissingDependencyError

Reader: TypeAlias = Callable[[bytes, Path], str]
INSTALL = "pip install 'ragcache-dllm[loaders]'"
READ = "only .txt, .md, .html, .pdf and .docx files are read"

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_UNSEEN = ("script", "style", "template", "noscript", "title")  # tags whose content a reader does not see


def read_text(data: bytes, path: Path) -> str:
    """UTF-8 text, as it is. Raises `DocumentError` naming the first byte that is none."""
    kind = "UTF-16" if data.startswith(_UTF16_BOMS) else "YOUR-ENCODING"
    help_text = f"Convert it: iconv -f {kind} -t UTF-8 '{path}' > '{path}.new'"
    body = data.removeprefix(_BOM)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + len(data) - len(body)
        raise DocumentError(
            f"{path}: not UTF-8 text, byte 0x{data[offset]:02x} at offset {offset}. {help_text}"
        ) from error
    if "\0" in text:
        raise DocumentError(
            f"{path}: UTF-16 or binary, not UTF-8 text: zero byte at offset {data.index(0)}. {help_text}"
        )
    return text


def read_html(data: bytes, path: Path) -> str:
    """Markdown of what a reader sees; the encoding is the one the page names, or guessed."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(data, "html.parser")
    for tag in soup.find_all(_UNSEEN):
        tag.decompose()
    converter = MarkdownConverter(heading_style="ATX", escape_asterisks=False, escape_underscores=False)
    return str(converter.convert_soup(soup))


def read_docx(data: bytes, path: Path) -> str:
    """Markdown of a Word document."""
    import mammoth

    return read_html(str(mammoth.convert_to_html(io.BytesIO(data)).value).encode(), path)


def read_pdf(data: bytes, path: Path) -> str:
    """The text of all pages; pictures of text give none."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentError(f"{path}: needs a password. Save it without one first.")
    return "\n\n".join(page.extract_text() for page in reader.pages)


# What reads a suffix, and which packages it needs.
READERS: Mapping[str, tuple[Reader, tuple[str, ...]]] = {
    ".txt": (read_text, ()),
    ".md": (read_text, ()),
    ".html": (read_html, ("markdownify",)),
    ".htm": (read_html, ("markdownify",)),
    ".docx": (read_docx, ("mammoth", "markdownify")),
    ".pdf": (read_pdf, ("pypdf",)),
}


def missing_package(path: Path) -> str | None:
    """The package that reading a file of a known suffix lacks; None if it has all."""
    _, packages = READERS[path.suffix.lower()]
    return next((package for package in packages if find_spec(package) is None), None)


def extract(data: bytes, path: Path) -> str:
    """The text of a file with a suffix of `READERS`.

    Raises `MissingDependencyError` naming the pip command, `DocumentError` for a file that cannot be read.
    """
    reader, _ = READERS[path.suffix.lower()]
    if (package := missing_package(path)) is not None:
        raise MissingDependencyError(f"{path}: reading it needs {package}. Run: {INSTALL}")
    try:
        return reader(data, path)
    except DocumentError:
        raise
    except Exception as error:  # damaged files make these packages raise almost anything
        raise DocumentError(
            f"{path}: not a readable {path.suffix.lower()} file ({error}). Save it again, or leave it out."
        ) from error
