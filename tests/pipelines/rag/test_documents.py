"""Loading documents: names, clean text, and nothing lost without a word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragcache.errors import DocumentError
from ragcache.pipelines.rag.documents import load_documents
from ragcache.pipelines.rag.formats import READ


def write(root: Path, **files: str | bytes) -> Path:
    """Files by name; "__" stands for "/" and a last "_" for "."."""
    for key, content in files.items():
        path = root / ".".join(key.replace("__", "/").rsplit("_", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def names(*paths: Path) -> list[str]:
    return [document.name for document in load_documents(paths).documents]


def test_a_folder_is_read_in_sorted_order_without_hidden_files(tmp_path: Path) -> None:
    write(tmp_path, b_txt="b", a_MD="a", sub__c_md="c")
    (tmp_path / ".hidden.md").write_text("no")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.md").write_text("no")
    loaded = load_documents([tmp_path])
    assert [(document.name, document.text) for document in loaded.documents] == [
        ("a.MD", "a"),
        ("b.txt", "b"),
        ("sub/c.md", "c"),
    ]
    assert loaded.warnings == ()


def test_a_file_is_named_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, sub__c_md="c")
    assert names(tmp_path / "sub" / "c.md") == ["c.md"]


def test_clashing_names_get_the_folders_that_tell_them_apart(tmp_path: Path) -> None:
    write(tmp_path, a__x__r_md="1", b__x__r_md="2", b__x__only_md="3")
    assert names(tmp_path / "a" / "x", tmp_path / "b" / "x") == ["a/x/r.md", "only.md", "b/x/r.md"]


def test_a_lengthened_name_may_not_clash_with_another(tmp_path: Path) -> None:
    write(tmp_path, top__x__r_md="1", x__r_md="2", y__r_md="3")
    found = names(tmp_path / "top", tmp_path / "x", tmp_path / "y")
    assert found == ["top/x/r.md", f"{tmp_path.name}/x/r.md", "y/r.md"]


def test_the_same_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, a_md="a")
    (tmp_path / "link.md").symlink_to("a.md")
    loaded = load_documents([tmp_path, tmp_path / "a.md"])
    assert [document.name for document in loaded.documents] == ["a.md"]
    assert len(loaded.warnings) == 2
    assert "link.md: skipped, it is the same file as" in loaded.warnings[0]


def test_link_loops_end(tmp_path: Path) -> None:
    write(tmp_path, a_md="a", sub__b_md="b")
    (tmp_path / "sub" / "up").symlink_to(tmp_path, target_is_directory=True)
    assert names(tmp_path) == ["a.md", "sub/b.md"]


@pytest.mark.parametrize("target", ["missing.md", "bad.md"])
def test_a_link_that_leads_nowhere(tmp_path: Path, target: str) -> None:
    write(tmp_path, a_md="a")
    (tmp_path / "bad.md").symlink_to(target)
    with pytest.raises(DocumentError, match=r"bad\.md: the link leads nowhere"):
        load_documents([tmp_path])


def test_other_files_and_empty_documents_are_skipped_with_a_warning(tmp_path: Path) -> None:
    write(tmp_path, a_md="a", b_csv="x", c_txt=" \r\n\n")
    loaded = load_documents([tmp_path])
    assert [document.name for document in loaded.documents] == ["a.md"]
    assert loaded.warnings == (
        f"{tmp_path / 'b.csv'}: skipped, {READ}.",
        f"{tmp_path / 'c.txt'}: skipped, it holds no text.",
    )


def test_text_is_normalised(tmp_path: Path) -> None:
    write(tmp_path, a_md=b"\xef\xbb\xbf\r\nCafe\xcc\x81  \r\n\r\n  indented\t\rend\n\n")
    assert load_documents([tmp_path]).documents[0].text == "Café\n\n  indented\nend"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"caf\xe9", "byte 0xe9 at offset 3"),
        (b"\xef\xbb\xbfcaf\xe9!", "byte 0xe9 at offset 6"),
        ("text".encode("utf-16"), "iconv -f UTF-16"),
        (b"a\0b", "zero byte at offset 1"),
    ],
)
def test_what_is_not_utf8_text_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    write(tmp_path, good_md="fine", bad_txt=data)
    with pytest.raises(DocumentError, match=message) as caught:
        load_documents([tmp_path])
    assert "bad.txt" in str(caught.value)


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a_md="a")

    def deny(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", deny)
    with pytest.raises(DocumentError, match=r"a\.md: cannot be read \(Permission denied\)"):
        load_documents([tmp_path])


def test_an_unreadable_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a_md="a", sub__b_md="b")
    scan = os.scandir

    def deny(path: str) -> object:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", deny)
    with pytest.raises(DocumentError, match="sub: cannot be read"):
        load_documents([tmp_path])


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(DocumentError, match="not a regular file"):
        load_documents([tmp_path])


def test_a_file_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("x")
    with pytest.raises(DocumentError, match="file name is not UTF-8"):
        load_documents([tmp_path])


def test_nothing_usable(tmp_path: Path) -> None:
    write(tmp_path, x__b_csv="x", y__c_md=" ")
    with pytest.raises(DocumentError, match="no such file or folder"):
        load_documents([tmp_path / "missing"])
    with pytest.raises(DocumentError, match=r"no file to read"):
        load_documents([tmp_path / "x"])
    with pytest.raises(DocumentError, match=r"only \.txt, \.md"):
        load_documents([tmp_path / "x" / "b.csv"])
    with pytest.raises(DocumentError, match="No document to read"):
        load_documents([tmp_path / "y"])
    with pytest.raises(DocumentError, match="no path was given"):
        load_documents([])
    with pytest.raises(DocumentError, match="cannot be read"):
        load_documents([tmp_path / "\0.md"])
