"""The settings with which a running `helix up` makes memories, so that a command makes the same.

`helix rebuild` and `helix models use` run the rules of ingest, doc2query and consolidation in a process of
their own, which may have been started from another shell.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Final

from helix_shared.errors import InvalidInputError

_PREFIXES: Final = ("HELIX_INGEST_", "HELIX_DOC2QUERY_", "HELIX_CONSOLIDATION_")
_OF_THE_STACK: Final = ("_NATS_URL", "_DATA_DIR", "_MODELS_DIR")
"""A stack sets these itself; what the user set for them counts nothing."""


def making_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environment`, in capitals, that the services which make memories read."""
    return {
        name.upper(): value
        for name, value in sorted(environment.items())
        if name.upper().startswith(_PREFIXES) and not name.upper().endswith(_OF_THE_STACK)
    }


@contextlib.contextmanager
def settings_in_use(recorded: Mapping[str, str]) -> Iterator[None]:
    """Inside, this process has the recorded `making_settings` of a `helix up`.

    Raises:
        InvalidInputError: a variable is set here, and `helix up` has it not or with another value.
    """
    for name, value in making_settings(os.environ).items():
        if recorded.get(name) != value:
            other = f"with {recorded[name]!r}" if name in recorded else "without it"
            raise InvalidInputError(name, f"is {value!r} here, `helix up` runs {other}: unset it here")
    added = {name: value for name, value in recorded.items() if name not in making_settings(os.environ)}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
