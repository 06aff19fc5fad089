"""Checks, at every start of a writer, that an object store honours preconditions.

Fencing rests on them. Some stores and proxies accept the headers and ignore them; there, two writers could
publish at once, and nobody would notice.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING

from helix_shared.artifacts.object_storage.layout import CANARY
from helix_shared.artifacts.object_storage.store import ConflictError
from helix_shared.errors import PermanentError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_shared.artifacts.object_storage.store import ObjectStore, ObjectVersion


def prove_preconditions(store: ObjectStore) -> None:
    """Write an object that exists, and replace one that changed: both must fail.

    Raises:
        PermanentError: the store ignores a precondition.
        TemporaryError: it does not answer.
    """
    path = f"{CANARY}/{uuid.uuid4().hex}"
    first = store.create(path, b"1")
    try:
        _must_fail(lambda: store.create(path, b"2"), "If-None-Match", store)
        try:
            store.replace(path, b"22", first)
        except ConflictError as error:
            raise PermanentError(
                f"object store {store.url} refuses If-Match with the tag that it gave; "
                "a pointer cannot be replaced: use another store"
            ) from error
        _must_fail(lambda: store.replace(path, b"333", first), "If-Match", store)
    finally:
        # a leftover is collected like any object that no manifest names
        with contextlib.suppress(TemporaryError):
            store.delete([path])


def _must_fail(write: Callable[[], ObjectVersion], header: str, store: ObjectStore) -> None:
    try:
        write()
    except ConflictError:
        return
    raise PermanentError(
        f"object store {store.url} ignores {header}: a write that had to fail succeeded, so two writers "
        "could publish at once; use a store with conditional writes, and no proxy that drops the header"
    )
