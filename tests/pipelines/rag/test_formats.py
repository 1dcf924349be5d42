"""HTML, PDF and Word files are read by their packages; what they lack or cannot read is said."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from ragcache.errors import DocumentError, MissingDependencyError
from ragcache.pipelines.rag import formats
from ragcache.pipelines.rag.documents import load_documents

for package in ("markdownify", "mammoth", "pypdf"):
    pytest.importorskip(package)

HTML = (
    b"<html><head><title>Shop</title><style>p {}</style></head><body><h1>Kettle</h1>"
    b"<p>It is <b>blue</b>.<script>spy()</script></p><ul><li>snake_case</li></ul>"
    b"<table><tr><th>price</th></tr><tr><td>40</td></tr></table></body></html>"
)
WORD = (
    '<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    "<w:body><w:p><w:r><w:t>The kettle is blue.</w:t></w:r></w:p>"
    "<w:p><w:r><w:t>It costs forty crowns.</w:t></w:r></w:p></w:body></w:document>"
)
TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Target="word/document.xml" Type="http://schemas.openxmlformats.org/officeDocument/'
    '2006/relationships/officeDocument"/></Relationships>'
)


def docx() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("word/document.xml", WORD)
    return file.getvalue()


def pdf(*texts: str) -> bytes:
    """A page for each text."""
    count = len(texts)
    pages = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{pages}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(texts):
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
        font, content = "<< /Font << /F1 3 0 R >> >>", f"/Contents {5 + 2 * number} 0 R"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Resources {font} {content} >>")
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, starts = "%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        starts.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{start:010} 00000 n \n" for start in starts)
    size, xref = len(objects) + 1, len(out)
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return (out + f"startxref\n{xref}\n%%EOF\n").encode()


def text_of(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return load_documents([path]).documents[0].text


def test_html_becomes_markdown_of_what_is_seen(tmp_path: Path) -> None:
    text = text_of(tmp_path / "a.html", HTML)
    assert text.startswith("# Kettle\n\nIt is **blue**.")
    assert "snake_case" in text
    assert "| 40 |" in text
    for hidden in ("Shop", "spy", "p {}"):
        assert hidden not in text


def test_a_page_says_its_encoding(tmp_path: Path) -> None:
    page = "<meta charset='iso-8859-1'><p>Caf\u00e9</p>".encode("latin-1")
    assert text_of(tmp_path / "a.HTM", page) == "Caf\u00e9"


def test_word_documents(tmp_path: Path) -> None:
    assert text_of(tmp_path / "a.docx", docx()) == "The kettle is blue.\n\nIt costs forty crowns."


def test_pdf_documents(tmp_path: Path) -> None:
    assert text_of(tmp_path / "a.pdf", pdf("Page one.", "Page two.")) == "Page one.\n\nPage two."


def test_a_pdf_of_pictures_holds_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b.pdf").write_bytes(pdf(""))
    assert load_documents([tmp_path]).warnings == (f"{tmp_path / 'b.pdf'}: skipped, it holds no text.",)


@pytest.mark.parametrize("suffix", [".pdf", ".docx"])
@pytest.mark.parametrize("data", [b"", b"nonsense", b"PK\x03\x04 torn"])
def test_a_damaged_file_is_refused(tmp_path: Path, suffix: str, data: bytes) -> None:
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(data)
    with pytest.raises(DocumentError, match=rf"bad\{suffix}: not a readable"):
        load_documents([path])


def without(*missing: str) -> Callable[[str], object]:
    return lambda name: None if name in missing else object()


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b.pdf").write_bytes(pdf("Page one."))
    monkeypatch.setattr(formats, "find_spec", without("pypdf"))
    [warning] = load_documents([tmp_path]).warnings
    assert "b.pdf: skipped, reading it needs pypdf" in warning
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragcache-dllm\[loaders\]'"):
        load_documents([tmp_path / "b.pdf"])
