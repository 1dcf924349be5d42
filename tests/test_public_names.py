"""What users may import, and the exception tree as its docstring draws it."""

import inspect
import re

import pytest

import ragcache
from ragcache import errors

PUBLIC = [
    "Affix",
    "Anchors",
    "Completion",
    "DecodingOptions",
    "Direct",
    "Engine",
    "Full",
    "Message",
    "Prompt",
    "RagCacheError",
    "Registry",
    "Request",
    "ReusePolicy",
    "ReuseReport",
    "load",
]
BRANCH = re.compile(r"^(?P<indent>[│ ]*)[├└]── (?P<name>\w+)(?P<what>.*)$", re.MULTILINE)
ALSO = re.compile(r"\(also an? (\w+)\)")
INDENT = 4


def drawn_bases() -> dict[str, tuple[str, ...]]:
    """Name -> names of its bases, read from the drawing in the docstring of `ragcache.errors`."""
    path = ["RagCacheError"]
    bases: dict[str, tuple[str, ...]] = {"RagCacheError": ("Exception",)}
    for branch in BRANCH.finditer(errors.__doc__ or ""):
        depth = 1 + len(branch["indent"]) // INDENT
        bases[branch["name"]] = (path[depth - 1], *ALSO.findall(branch["what"]))
        path[depth:] = [branch["name"]]
    return bases


def exceptions() -> dict[str, type[Exception]]:
    found = inspect.getmembers(errors, inspect.isclass)
    return {name: found_class for name, found_class in found if issubclass(found_class, Exception)}


def test_public_names_are_exactly_these() -> None:
    assert ragcache.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    public = getattr(ragcache, name)
    assert inspect.getdoc(public)
    assert name in dir(ragcache)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Enginee"):
        ragcache.Enginee  # noqa: B018


def test_star_import_gives_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from ragcache import *", names)
    assert sorted(names.keys() - {"__builtins__"}) == PUBLIC


def test_exception_tree_is_drawn_as_it_is() -> None:
    actual = {name: tuple(b.__name__ for b in found.__bases__) for name, found in exceptions().items()}
    assert drawn_bases() == actual


@pytest.mark.parametrize("name", exceptions())
def test_every_exception_says_when_it_is_raised(name: str) -> None:
    own = exceptions()[name].__dict__.get("__doc__")
    assert own, f"{name} has no docstring of its own"
    assert own[0].isupper()


@pytest.mark.parametrize("name", exceptions())
def test_one_except_clause_catches_them_all(name: str) -> None:
    assert issubclass(exceptions()[name], ragcache.RagCacheError)
