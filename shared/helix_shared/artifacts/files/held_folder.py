"""Held folders: files that stay readable until they are closed, even when their folder is removed.

The writer removes the folder of an old generation while a reader may still serve it. LanceDB and tantivy
open files by path, some of them only during a search. So the reader opens every file at once and gives the
engines a folder of links to its own descriptors (`/proc/self/fd`). The kernel keeps an open file until it is
closed. Nothing is written to the folder of the generation, so it may be mounted read-only.

On a network file system the server may delete an open file; see ops/decisions/0030.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.files.file_tree import plain_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

DESCRIPTORS: Final = Path("/proc/self/fd")
LOCK_SUFFIX: Final = ".lock"


class HeldFolder:
    """The open files of `source`, and links to them at `path`, which is `root / source.name`.

    Lock files are left out, since they belong to the writer.
    """

    def __init__(self, source: Path, scratch: Path | None) -> None:
        """Open every file; `scratch` is a local writable folder for the links, by default a temporary one.

        Raises:
            CorruptArtifactError: `source` holds something other than plain files and folders.
            OSError: a file cannot be opened or a link cannot be created.
        """
        files, folders = plain_tree(source)
        if not DESCRIPTORS.is_dir():
            raise FileNotFoundError(f"{DESCRIPTORS} is missing: generations are read through it; mount /proc")
        if scratch is not None:
            scratch.mkdir(parents=True, exist_ok=True)
        self.root = Path(tempfile.mkdtemp(prefix=f"{source.name}-", dir=scratch))
        self.path = self.root / source.name
        descriptors: list[int] = []
        # runs as well when the object is garbage collected and when the process exits
        self._release = weakref.finalize(self, _release, self.root, descriptors)
        try:
            for folder in folders:
                (self.path / folder).mkdir(parents=True, exist_ok=True)
            for name in files:
                if not name.endswith(LOCK_SUFFIX):
                    descriptors.append(os.open(f"{source}/{name}", os.O_RDONLY | os.O_CLOEXEC))
                    link = f"{self.path}/{name}"
                    os.symlink(f"{DESCRIPTORS}/{descriptors[-1]}", link)  # noqa: PTH211 - hundreds in a swap
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the links and close the files; files that an engine has open stay open there."""
        self._release()


def _release(root: Path, descriptors: Sequence[int]) -> None:
    # Renamed first, because the number of a closed descriptor may be reused for another file. Removed last,
    # because that needs a descriptor.
    gone = root.with_name(f"gone-{root.name}")
    with contextlib.suppress(OSError):
        root.rename(gone)
    for descriptor in descriptors:
        os.close(descriptor)
    shutil.rmtree(gone, ignore_errors=True)
