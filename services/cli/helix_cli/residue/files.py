"""Residue in the files of a home: raw bytes, and through the engines whose files hide their content.

The lexicon keeps its terms in a compressed dictionary, so its terms are listed. The vector table may encode
texts, so its columns are scanned. A row that is deleted, but still in a file of the table, is found by the
bytes of its vector, which are never encoded.
"""

from __future__ import annotations

import contextlib
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Final

from tantivy import Index

from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.artifacts.generation.folders import LEXICON
from helix_shared.artifacts.lexicon.files import META
from helix_shared.artifacts.vectors.table import open_table
from helix_shared.errors import HelixError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.residue.canaries import Canaries


TERM_FIELDS: Final = ("text", "context", "section", "expansions", "exact")
_MODELS: Final = "models"


def residue_in_files(home: Path, canaries: Canaries) -> Counter[str]:
    """How often something is found, by place below `home`; models and other programs' files are left out."""
    found: Counter[str] = Counter()
    for path in sorted(home.rglob("*")):
        relative = path.relative_to(home)
        if relative.parts[0] == _MODELS or path.is_symlink():
            continue
        if path.is_dir():
            found.update(_through_engine(path, relative.as_posix(), canaries))
        elif path.is_file() and (count := _in_file(path, canaries)):
            found[relative.as_posix()] += count
    return found


def _in_file(path: Path, canaries: Canaries) -> int:
    try:
        content = path.read_bytes()
    except OSError:
        return 0  # it was removed meanwhile
    return canaries.count(content) + canaries.count(_inflated(content))


def _inflated(content: bytes) -> bytes:
    """The content of a zlib or gzip file; empty for others."""
    if content[:2] not in (b"\x1f\x8b", b"\x78\x9c", b"\x78\xda", b"\x78\x01"):
        return b""
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(content)
    except zlib.error:
        return b""


def _through_engine(folder: Path, place: str, canaries: Canaries) -> Counter[str]:
    try:
        if folder.name == LEXICON and (folder / META).exists():
            return _in_lexicon(folder, place, canaries)
        if folder.name.endswith(".lance"):
            return _in_table(folder, place, canaries)
    except (HelixError, ValueError, OSError, RuntimeError):
        pass  # it was removed meanwhile; LanceDB says so with a RuntimeError
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
