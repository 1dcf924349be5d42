from __future__ import annotations

from pathlib import Path

import pytest

from ragcache.errors import InputError
from ragcache.registry.trace import TraceAffix, read_trace

GOOD = '{"t": 0.5, "affixes": [{"id": "a", "tokens": 3}]}'


def test_requests_in_the_order_of_lines(tmp_path: Path) -> None:
    lines = [GOOD, "", '{"t": 0, "affixes": [{"id": "b", "tokens": 4, "bytes": 9, "encode_s": 1}]}']
    (tmp_path / "trace").write_text("\n".join([*lines, '{"t": -1e3, "affixes": []}', ""]))
    assert list(read_trace(tmp_path / "trace")) == [
        (TraceAffix("a", 3),),
        (TraceAffix("b", 4, 9, 1),),
        (),
    ]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("nonsense", "no JSON"),
        ("[" * 5000, "no JSON"),
        ("\ud800", "no JSON"),
        ("[]", "no object"),
        ('{"affixes": []}', "'t' is missing"),
        ('{"t": 0}', "'affixes' is missing"),
        ('{"t": 0, "affixes": [], "x": 1}', "unknown field 'x'"),
        ('{"t": "0", "affixes": []}', "t is '0'"),
        ('{"t": NaN, "affixes": []}', "t is nan"),
        ('{"t": true, "affixes": []}', "t is True"),
        ('{"t": 0, "affixes": {}}', "affixes is no list"),
        ('{"t": 0, "affixes": [5]}', "5 is no object"),
        ('{"t": 0, "affixes": [{"id": "a"}]}', "'tokens' is missing"),
        ('{"t": 0, "affixes": [{"id": 1, "tokens": 1}]}', "id is 1"),
        ('{"t": 0, "affixes": [{"id": "", "tokens": 1}]}', "id is ''"),
        ('{"t": 0, "affixes": [{"id": "a", "tokens": 0}]}', "tokens is 0"),
        ('{"t": 0, "affixes": [{"id": "a", "tokens": 1.5}]}', "tokens is 1.5"),
        ('{"t": 0, "affixes": [{"id": "a", "tokens": 1, "bytes": -1}]}', "bytes is -1"),
        ('{"t": 0, "affixes": [{"id": "a", "tokens": 1, "encode_s": -1}]}', "encode_s is -1"),
    ],
)
def test_bad_lines_are_refused_by_number(tmp_path: Path, line: str, part: str) -> None:
    (tmp_path / "trace").write_bytes(f"{GOOD}\n\n{line}\n".encode(errors="surrogatepass"))
    with pytest.raises(InputError, match="line 3") as refused:
        list(read_trace(tmp_path / "trace"))
    assert part in str(refused.value)


@pytest.mark.parametrize("name", ["nowhere", ".", "a\0b"])
def test_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(read_trace(tmp_path / name))
