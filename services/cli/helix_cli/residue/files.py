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
from typing import IO, TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from tantivy import Index

from helix_cli.residue.canaries import SEPARATOR
from helix_cli.residue.found import Residue
from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.artifacts.generation.folders import LEXICON
from helix_shared.artifacts.lexicon.files import META
from helix_shared.artifacts.vectors.table import open_table
from helix_shared.errors import HelixError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix_cli.residue.canaries import Canaries


TERM_FIELDS: Final = ("text", "context", "section", "expansions", "exact")
_TEXT_KINDS: Final = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)
_MODELS: Final = "models"
_COMPRESSED: Final = (b"\x1f\x8b", b"\x78\x9c", b"\x78\xda", b"\x78\x01")
"""How a gzip or a zlib file begins."""
_PART_BYTES: Final = 16 << 20
_UNREADABLE: Final = (HelixError, ValueError, OSError, RuntimeError)
_REASON_CHARACTERS: Final = 200


def residue_in_files(home: Path, canaries: Canaries) -> Residue:
    """How often something is found, by place below `home`; models and other programs' files are left out.

    Links are followed: `data` may lie on another disk. What is there and cannot be read is named. What is
    removed while it is read is not.
    """
    found, seen, counted = Residue(), set[Path](), dict[tuple[int, ...], int]()
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
                if path == at:
                    found.counts.update(_in_folder(path, place, canaries))
                elif count := _in_file(path, canaries, counted):
                    found.counts[place] += count
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


def _in_file(path: Path, canaries: Canaries, counted: dict[tuple[int, ...], int]) -> int:
    """Occurrences in a file; generations share files by hard links, and each is read once."""
    if not path.is_file():
        return 0
    status = path.stat()
    key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if key not in counted:
        with path.open("rb") as file:
            is_compressed = file.read(2) in _COMPRESSED
            file.seek(0)
            counted[key] = canaries.count_in(_parts(file))
            if is_compressed:
                file.seek(0)
                counted[key] += canaries.count_in(_inflated(_parts(file)))
    return counted[key]


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    """The content of a file, which may be larger than the memory."""
    while part := file.read(_PART_BYTES):
        yield part


def _inflated(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The content of a zlib or gzip file, as far as it is whole."""
    engine = zlib.decompressobj(zlib.MAX_WBITS | 32)
    for part in parts:
        waiting = part
        while waiting:
            if engine.eof:  # another file may follow
                engine = zlib.decompressobj(zlib.MAX_WBITS | 32)
            try:
                yield engine.decompress(waiting, _PART_BYTES)
            except zlib.error:
                return
            waiting = engine.unconsumed_tail or engine.unused_data
    yield engine.flush()


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
            if count := canaries.count_terms(words):
                found[f"{place} terms of {name}"] += count
    return found


def _in_table(folder: Path, place: str, canaries: Canaries) -> Counter[str]:
    found: Counter[str] = Counter()
    table = open_table(folder.parent)
    names = [field.name for field in table.schema if _holds_text(field.type)]
    rows = table.search().select(names).limit(max(int(table.count_rows()), 1)).to_arrow()
    for name in names:
        if count := canaries.count(SEPARATOR.join(_values(rows[name]))):
            found[f"{place} column {name}"] += count
    return found


def _holds_text(kind: pa.DataType) -> bool:
    """Whether values of a column are texts or bytes, or lists of them; numbers hold neither."""
    if isinstance(kind, pa.ListType | pa.LargeListType):
        kind = kind.value_type
    return any(is_kind(kind) for is_kind in _TEXT_KINDS)


def _values(column: pa.ChunkedArray) -> Iterator[bytes]:
    """The texts of a column, those of lists one by one."""
    single = pc.list_flatten(column) if pa.types.is_nested(column.type) else column
    for value in single.to_pylist():
        if value is not None:
            yield value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
