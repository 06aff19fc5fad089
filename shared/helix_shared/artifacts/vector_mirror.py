"""One folder in which the vector tables of all generations are seen, so that LanceDB's caches outlive a swap.

LanceDB keeps what it read of an index by the path of its table. Generations lie in folders of their
own, so each of them would begin cold: .05 to .1 s of processor time for a swap, and slow searches until
every partition was read again. Through the mirror a later generation is a later version of the same table.
`vector_reader` opens tables here; the files stay where they are, and may be read-only.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import lancedb

from helix_shared.artifacts.file_tree import plain_tree
from helix_shared.artifacts.vector_files import TABLE_FOLDER, newest_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

INDEX_CACHE_BYTES: Final = 256 << 20
"""What a session keeps of indices: all of one over 10^6 memories is 76 MB, what is followed goes first."""
METADATA_CACHE_BYTES: Final = 64 << 20

Identity = tuple[int, int]


class VectorMirror:
    """Links to the files of tables, and the session that keeps what LanceDB read of them.

    One thread shows, any may hide.
    """

    def __init__(self, scratch: Path) -> None:
        """Begin with nothing in it; `scratch` is a local writable folder, best in memory."""
        scratch.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="vectors-", dir=scratch))
        self.session: Any = lancedb.Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES)
        self._table = self.folder / TABLE_FOLDER
        self._shown: Counter[str] = Counter()
        self._newest: tuple[str, Identity] | None = None
        """Name and identity of the manifest shown last; a later version has a lesser name."""
        self._lock = threading.Lock()

    def goes_on(self, folder: Path) -> bool:
        """Whether the table in `folder` is a later version of what was shown, or the newest of it itself.

        A store that was made anew or set back is another table, whatever its versions are called.

        Raises:
            CorruptArtifactError: the version cannot be told.
        """
        manifest = newest_manifest(folder)
        if self._newest is None:
            return True
        name, identity = self._newest
        return manifest.name < name or (manifest.name, _identity(manifest)) == (name, identity)

    def show(self, folder: Path) -> tuple[str, ...]:
        """Link what is not there of the table in `folder`; returns what to `hide` when it is closed.

        Raises:
            CorruptArtifactError: there are not only plain files, or the version cannot be told.
            OSError: no link can be made.
        """
        table = folder.absolute() / TABLE_FOLDER
        manifest = newest_manifest(folder)
        files, folders = plain_tree(table)
        with self._lock:
            self._shown.update(files.keys())
            try:
                for path in folders:
                    (self._table / path).mkdir(parents=True, exist_ok=True)
                for name in files:
                    # what hangs in the air was shown by a generation that is retired
                    if not (self._table / name).exists():
                        self._link(name, table)
            except OSError:
                self._take_out(tuple(files))
                raise
            self._newest = manifest.name, _identity(manifest)
        return tuple(files)

    def rest_on(self, folder: Path, names: Sequence[str]) -> None:
        """Look for files in `folder` from now on: versions shown before share them, but are retired first.

        Raises:
            OSError: a link cannot be made; those of before are good as long as their folder is there.
        """
        table = folder.absolute() / TABLE_FOLDER
        for name in names:
            self._link(name, table)

    def hide(self, names: Sequence[str]) -> None:
        """Take out what a version showed and no other one does; the folder goes with the last."""
        with self._lock:
            self._take_out(names)

    def _take_out(self, names: Sequence[str]) -> None:
        self._shown.subtract(names)
        gone = [name for name in names if self._shown[name] <= 0]
        for name in gone:
            del self._shown[name]
            (self._table / name).unlink(missing_ok=True)
        for folder in sorted({(self._table / name).parent for name in gone}, reverse=True):
            with contextlib.suppress(OSError):
                # as long as others have files in it, it stays
                folder.rmdir()
        if not self._shown:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _link(self, name: str, table: Path) -> None:
        unfinished = self.folder / "unfinished"
        unfinished.unlink(missing_ok=True)
        unfinished.symlink_to(table / name)
        unfinished.replace(self._table / name)


def _identity(path: Path) -> Identity:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns
