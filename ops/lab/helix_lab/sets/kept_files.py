"""Files of results: known by what the result depends on, and written whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def kept_file(folder: Path, name: str, inputs: Iterable[str], *, suffix: str = ".json") -> Path:
    """The file in `folder` of the results called `name` that depend on `inputs`."""
    safe = name.replace(":", "-").replace("/", "-")
    return folder / f"{safe}-{digest_of(inputs)}{suffix}"


def digest_of(inputs: Iterable[str]) -> str:
    """One digest over texts, in their order."""
    digest = hashlib.blake2b(digest_size=12)
    for text in inputs:
        digest.update(f"{text}\x1e".encode())
    return digest.hexdigest()
