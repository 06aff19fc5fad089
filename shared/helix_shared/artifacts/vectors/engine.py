"""Imports LanceDB without what its client of remote catalogs prepares, which nothing here calls.

That client checks the arguments of hundreds of functions with pydantic, whose schemas would take a third of
the import: half a second of processor time in every process that opens vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydantic


def _unchecked(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


_validate_call = pydantic.validate_call
pydantic.validate_call = _unchecked  # type: ignore[assignment]
try:
    import lancedb
    from lancedb.index import Bitmap, BTree, IvfPq, IvfRq, IvfSq, LabelList
finally:
    pydantic.validate_call = _validate_call

__all__ = ["BTree", "Bitmap", "IvfPq", "IvfRq", "IvfSq", "LabelList", "lancedb"]
