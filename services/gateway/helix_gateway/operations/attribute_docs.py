"""The documentation of the attributes of a class: the string below each, as the source has it."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
from itertools import pairwise


@functools.cache
def attribute_docs(kind: type) -> dict[str, str]:
    """One line of text by attribute, those of its bases included."""
    found: dict[str, str] = {}
    definition = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    if not isinstance(definition, ast.ClassDef):
        return found
    for base in reversed(_bases(kind, definition)):
        found |= attribute_docs(base)
    for statement, after in pairwise(definition.body):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = _text_of(after)
            if text:
                found[statement.target.id] = " ".join(text.split())
    return found


def _bases(kind: type, definition: ast.ClassDef) -> list[type]:
    """The bases written in Helix, from the source: in Python 3.11 a TypedDict does not know them."""
    names = [base.id for base in definition.bases if isinstance(base, ast.Name)]
    found = [getattr(sys.modules[kind.__module__], name, None) for name in names]
    return [base for base in found if isinstance(base, type) and base.__module__.startswith("helix_")]


def _text_of(statement: ast.stmt) -> str:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    value = statement.value.value if is_text else ""  # type: ignore[attr-defined]  # checked above
    return value if isinstance(value, str) else ""
