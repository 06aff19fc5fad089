"""The documentation of the attributes of a class: the string below each, as the source has it."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from itertools import pairwise


@functools.cache
def attribute_docs(kind: type) -> dict[str, str]:
    """One line of text by attribute, those of its bases included."""
    found: dict[str, str] = {}
    for one in reversed(_sources(kind)):
        body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for statement, after in pairwise(statements):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                text = _text_of(after)
                if text:
                    found[statement.target.id] = " ".join(text.split())
    return found


def _sources(kind: type) -> list[type]:
    """The class and its bases that are written in Helix; a TypedDict does not have them in `__mro__`."""
    bases = getattr(kind, "__orig_bases__", None) or kind.__bases__
    found = [kind]
    for base in bases:
        if isinstance(base, type) and base.__module__.startswith("helix_"):
            found += _sources(base)
    return found


def _text_of(statement: ast.stmt) -> str:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    value = statement.value.value if is_text else ""  # type: ignore[attr-defined]  # checked above
    return value if isinstance(value, str) else ""
