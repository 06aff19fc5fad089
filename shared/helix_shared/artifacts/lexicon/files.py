"""The files of a tantivy index: a consistent copy of a commit by hard links, and its counts.

Segment files are immutable; `meta.json` lists the segments of a commit and is replaced as a whole.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Final

from helix_shared.errors import CorruptArtifactError, TemporaryError

if TYPE_CHECKING:
    from pathlib import Path

META: Final = "meta.json"
MANAGED: Final = ".managed.json"
REPLACED: Final = frozenset((META, MANAGED))
"""Files that the engine replaces in place; a copy of an index must not share them."""

_ATTEMPTS: Final = 10


def link_commit(source: Path, target: Path) -> None:
    """Hard-link the last commit of the index in `source` into the new folder `target`.

    Only the process that writes the index may call this. A background merge may remove files meanwhile; then
    the next commit is linked.

    Raises:
        TemporaryError: merges removed files ten times in a row.
    """
    for _ in range(_ATTEMPTS):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        meta = (source / META).read_bytes()
        names = _segment_files(source, json.loads(meta))
        try:
            for name in names:
                (target / name).hardlink_to(source / name)
        except FileNotFoundError:
            continue
        if not _complete(names, json.loads(meta)):
            continue
        (target / META).write_bytes(meta)
        (target / MANAGED).write_text(json.dumps([*names, META]))
        return
    raise TemporaryError("lexicon is merging and could not be linked; publish again", delay_seconds=1)


def documents_and_deleted(folder: Path) -> tuple[int, int]:
    """Documents of the index as the engine counts them for BM25, and how many of them are deleted.

    A deleted document counts until its segment is merged.

    Raises:
        CorruptArtifactError: `meta.json` cannot be read.
    """
    try:
        segments = json.loads((folder / META).read_bytes())["segments"]
        deletes = [segment["deletes"] for segment in segments if segment["deletes"] is not None]
        deleted = sum(int(one["num_deleted_docs"]) for one in deletes)
        return sum(int(segment["max_doc"]) for segment in segments), deleted
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptArtifactError(f"lexicon cannot be read: {folder}") from error


def segments_with_deletions(folder: Path) -> list[int]:
    """Places of the segments, in the order of the index, whose deleted documents are still in their files.

    Raises:
        CorruptArtifactError: `meta.json` cannot be read.
    """
    try:
        segments = json.loads((folder / META).read_bytes())["segments"]
        return [place for place, segment in enumerate(segments) if segment["deletes"] is not None]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptArtifactError(f"lexicon cannot be read: {folder}") from error


def documents_of_commit(folder: Path) -> int:
    """Documents of the index that are not deleted.

    Raises:
        CorruptArtifactError: `meta.json` cannot be read.
    """
    every, deleted = documents_and_deleted(folder)
    return every - deleted


def _segment_files(folder: Path, meta: Any) -> list[str]:
    deletes = {_stem(segment): segment["deletes"] for segment in meta["segments"]}
    names = []
    for path in folder.iterdir():
        stem, _, rest = path.name.partition(".")
        if stem not in deletes:
            continue
        if rest.endswith("del") and (deletes[stem] is None or rest != f"{deletes[stem]['opstamp']}.del"):
            continue
        names.append(path.name)
    return sorted(names)


def _complete(names: list[str], meta: Any) -> bool:
    # every segment has a term dictionary, and a file of deletions if it has any
    present = set(names)
    return all(
        f"{_stem(segment)}.term" in present
        and (segment["deletes"] is None or f"{_stem(segment)}.{segment['deletes']['opstamp']}.del" in present)
        for segment in meta["segments"]
    )


def _stem(segment: Any) -> str:
    return str(segment["segment_id"]).replace("-", "")
