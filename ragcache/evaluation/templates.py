"""Jinja templates of reports, each one HTML page: texts are escaped, an unknown name is an error."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined


def environment(package: str) -> Environment:
    """Templates of `package`, which may include those next to this file."""

    def source(name: str) -> str | None:
        found = (files(own).joinpath(name) for own in (package, "ragcache.evaluation"))
        return next((file.read_text(encoding="utf-8") for file in found if file.is_file()), None)

    return Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
