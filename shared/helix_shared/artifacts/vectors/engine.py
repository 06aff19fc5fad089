"""Imports LanceDB without its client of remote catalogs, which nothing here calls.

The import would take 2.2 s of processor time in every process that opens vectors. One second of it defines
the pydantic models of that client, half a second compares LanceDB's methods with those that they override.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, MutableSequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, NoReturn

CATALOG_CLIENT: Final = "lance_namespace_urllib3_client"


def _refuse(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError(f"{__name__} imports LanceDB without {CATALOG_CLIENT}")


class _Placeholders(ModuleType):
    """A module of the client: each name is a class that annotations may name and nobody can call."""

    __path__: MutableSequence[str] = []  # noqa: RUF012  as of any package

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__new__": _refuse})


class _Finder(MetaPathFinder, Loader):
    """Finds placeholders for the modules of the client."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        is_client = fullname.partition(".")[0] == CATALOG_CLIENT
        return ModuleSpec(fullname, self, is_package=True) if is_client else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Placeholders(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """A placeholder has no code."""


@contextlib.contextmanager
def _without_catalogs() -> Iterator[None]:
    """Imports find placeholders instead of the client; afterwards they find the client again."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _Placeholders)]:
            del sys.modules[name]


@contextlib.contextmanager
def _without_comparing() -> Iterator[None]:
    """`overrides`, which LanceDB needs before Python 3.12, compares no signatures."""
    try:
        overrides: Any = importlib.import_module("overrides")
    except ImportError:
        yield
        return
    before = overrides.override, overrides.EnforceOverrides
    overrides.override, overrides.EnforceOverrides = lambda method: method, object
    try:
        yield
    finally:
        overrides.override, overrides.EnforceOverrides = before


with _without_catalogs(), _without_comparing():
    import lancedb
    from lancedb.index import Bitmap, BTree, IvfPq, IvfRq, IvfSq, LabelList

__all__ = ["BTree", "Bitmap", "IvfPq", "IvfRq", "IvfSq", "LabelList", "lancedb"]
