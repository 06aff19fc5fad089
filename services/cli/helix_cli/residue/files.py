"""Residue in the files of a home: raw bytes, and through the engines whose files hide their content.

The lexicon keeps its terms in a compressed dictionary, so its terms are listed. The vector table may encode
texts, so its columns are scanned. A row that is deleted, but still in a file of the table, is found by the
bytes of its vector, which are never encoded.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tantivy import Index

from helix_cli.residue.found import Residue
from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.artifacts.generation.folders import LEXICON
from helix_shared.artifacts.lexicon.files import META
from helix_shared.artifacts.vectors.table import open_table
from helix_shared.errors import HelixError

if TYPE_CHECKING:
    from helix_cli.residue.canaries import Canaries


TERM_FIELDS: Final = ("text", "context", "section", "expansions", "exact")
_MODELS: Final = "models"
_UNREADABLE: Final = (HelixError, ValueError, OSError, RuntimeError)
_REASON_CHARACTERS: Final = 200


def residue_in_files(home: Path, canaries: Canaries) -> Residue:
    """How often something is found, by place below `home`; models and other programs' files are left out.

    Links are followed: `data` may lie on another disk. What is there and cannot be read is named. What is
    removed while it is read is not.
    """
    found, seen = Residue(), set[Path]()
    for folder, folders, files in os.walk(
        home, followlinks=True, onerror=lambda error: _note(found, home, error)
    ):
        at = Path(folder)
        if (real := at.resolve()) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not (at == home and name == _MODELS))
        for path in (at, *(at / name for name in sorted(files))):
            place = path.relative_to(home).as_posix()
            try:
                found.counts.update(
                    _in_folder(path, place, canaries) if path == at else _in_file(path, place, canaries)
                )
            except _UNREADABLE as error:
                # LanceDB says with a RuntimeError that a table was removed meanwhile
                if path.exists():
                    found.unread[place] = str(error)[:_REASON_CHARACTERS] or type(error).__name__
    return found


def _note(found: Residue, home: Path, error: OSError) -> None:
    """A folder that cannot be listed."""
    path = Path(str(error.filename))
    if path.exists():
        found.unread[path.relative_to(home).as_posix()] = str(error)


def _in_file(path: Path, place: str, canaries: Canaries) -> Counter[str]:
    if not path.is_file():
        return Counter()
    content = path.read_bytes()
    count = canaries.count(content) + canaries.count(_inflated(content))
    return Counter({place: count} if count else {})


def _inflated(content: bytes) -> bytes:
    """The content of a zlib or gzip file; empty for others."""
    if content[:2] not in (b"\x1f\x8b", b"\x78\x9c", b"\x78\xda", b"\x78\x01"):
        return b""
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(content)
    except zlib.error:
        return b""


def _in_folder(folder: Path, place: str, canaries: Canaries) -> Counter[str]:
    """What the engine of a folder reads in it."""
    if folder.name == LEXICON and (folder / META).exists():
        return _in_lexicon(folder, place, canaries)
    if folder.name.endswith(".lance"):
        return _in_table(folder, place, canaries)
    return Counter()


def _in_lexicon(folder: Path, place: str, canaries: Canaries) -> Counter[str]:
    found: Counter[str] = Counter()
    # by links: the engine writes a lock file, and a generation with another file than its own is refused
    with contextlib.closing(HeldFolder(folder, None)) as held:
        searcher = Index.open(str(held.path)).searcher()
        for name in TERM_FIELDS if canaries.stems else ():
            terms = searcher.terms_with_prefix(name, "")
            words = (str(term[0] if isinstance(term, tuple) else term) for term in terms)
            count = sum(any(stem in word for stem in canaries.stems) for word in words)
            if count:
                found[f"{place} terms of {name}"] += count
    return found


def _in_table(folder: Path, place: str, canaries: Canaries) -> Counter[str]:
    found: Counter[str] = Counter()
    table = open_table(folder.parent)
    rows = table.search().limit(max(int(table.count_rows()), 1)).to_arrow()
    for name in rows.column_names:
        content = "\x00".join(map(str, rows[name].to_pylist())).encode("utf-8", "surrogatepass")
        if name != "vector" and (count := canaries.count(content)):
            found[f"{place} column {name}"] += count
    return found
