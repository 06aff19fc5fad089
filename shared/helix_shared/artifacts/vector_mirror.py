"""One folder in which the vector tables of all generations are seen, so that LanceDB's caches outlive a swap.

LanceDB keeps what it read of an index by the path of its table. Generations lie in folders of their
own, so each of them would begin cold: .05 to .1 s of processor time for a swap, and slow searches until
every partition was read again. Through the mirror a later generation is another version of the same table.
`vector_reader` opens tables here; the files stay where they are, and may be read-only.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import lancedb

from helix_shared.artifacts.file_tree import plain_tree
from helix_shared.artifacts.vector_files import TABLE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

INDEX_CACHE_BYTES: Final = 512 << 20
"""What a session keeps of indices: all of one over 10^6 memories (76 MB), and those it followed."""
METADATA_CACHE_BYTES: Final = 128 << 20


_VERSIONS: Final = "_versions"


class VectorMirror:
    """Links to the files of tables, and the session that keeps what LanceDB read of them. Thread-safe."""

    def __init__(self, scratch: Path) -> None:
        """Begin with nothing in it; `scratch` is a local writable folder, best in memory."""
        scratch.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="vectors-", dir=scratch))
        self.session: Any = lancedb.Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES)
        self._table = self.folder / TABLE_FOLDER
        self._shown: Counter[str] = Counter()
        self._lock = threading.Lock()

    def agrees(self, folder: Path) -> bool:
        """Whether no version in `folder` is another one of the same number here: a store made anew."""
        manifests = (folder / TABLE_FOLDER / _VERSIONS).iterdir()
        links = ((path, self._table / _VERSIONS / path.name) for path in manifests)
        return all(link.samefile(path) for path, link in links if link.is_symlink())

    def show(self, folder: Path) -> tuple[str, ...]:
        """Link the table of the generation in `folder`; returns what to `hide` when it is closed.

        Files that other versions share are looked for in `folder` from now on: theirs may be retired.

        Raises:
            CorruptArtifactError: there are not only plain files.
        """
        table = folder.absolute() / TABLE_FOLDER
        files, folders = plain_tree(table)
        with self._lock:
            for path in folders:
                (self._table / path).mkdir(parents=True, exist_ok=True)
            for name in files:
                unfinished = self.folder / "unfinished"
                unfinished.symlink_to(table / name)
                unfinished.replace(self._table / name)
            self._shown.update(files.keys())
        return tuple(files)

    def hide(self, names: Sequence[str]) -> None:
        """Take out what a version showed and no other one does; the folder goes with the last."""
        with self._lock:
            self._shown.subtract(names)
            for name in names:
                if not self._shown[name]:
                    del self._shown[name]
                    (self._table / name).unlink()
            if not self._shown:
                shutil.rmtree(self.folder, ignore_errors=True)
