"""The process of the prober: opens and searches each generation before the service does.

What crashes or hangs a native library there takes this process down and not the service. It loads no encoder:
the stored vector of the newest memory is the question, so a probe costs a few milliseconds beside what the
service does. `prober` starts and asks it, one JSON line for each generation; it ends with its standard input.
"""

from __future__ import annotations

import errno
import faulthandler
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from helix_shared.machine.processes import (
    allow_open_files,
    pause_garbage_collection,
    resume_garbage_collection,
    return_free_memory,
    use_few_arenas,
    use_one_blas_thread,
)

if TYPE_CHECKING:
    from helix_shared.artifacts.generation.reader import Generation

NICENESS: Final = 5
LIMIT: Final = 10
_RESOURCE_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
WORDS: Final = "what was decided about the release"


def main() -> None:
    """Probe the generations that standard input names until it ends."""
    # what a native library prints would be read as a result, and each later result as that of another probe
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    pause_garbage_collection()
    use_one_blas_thread()
    use_few_arenas()
    os.environ.setdefault("RUST_LOG", "error")
    # the traceback of a crash in a native library goes to the log of the service
    faulthandler.enable()
    os.nice(NICENESS)
    allow_open_files()
    from helix_query.generations.link_folder import link_folder  # noqa: PLC0415  numpy reads the environment
    from helix_shared.artifacts.generation import reader  # noqa: F401, PLC0415  while the service loads models

    resume_garbage_collection()
    with link_folder() as scratch:
        previous: Generation | None = None
        for line in sys.stdin:
            request = json.loads(line)
            try:
                generation = probe(Path(request["root"]), request["number"], previous, scratch=scratch)
            except BaseException as error:  # noqa: BLE001  a panic of a Rust engine is a BaseException
                _write_result(
                    results, f"{type(error).__name__}: {error}", is_temporary=is_machine_failure(error)
                )
                continue
            if previous is not None:
                previous.close()
            previous = generation
            _write_result(results, "")
            return_free_memory()


def probe(root: Path, number: int, previous: Generation | None, *, scratch: Path | None) -> Generation:
    """Open a generation, and search every store of it.

    Raises:
        Exception: whatever a store raises that cannot be read.
    """
    import numpy as np  # noqa: PLC0415  as in `main`

    from helix_shared.artifacts.filter.selection import Selection  # noqa: PLC0415  as in `main`
    from helix_shared.artifacts.generation.folders import folder_of  # noqa: PLC0415  as in `main`
    from helix_shared.artifacts.generation.manifest import Manifest  # noqa: PLC0415  as in `main`
    from helix_shared.artifacts.generation.reader import Generation  # noqa: PLC0415  as in `main`

    manifest = Manifest.read(folder_of(root, number))
    if previous is not None and previous.manifest.origin != manifest.origin:
        previous = None
    opened = Generation.open(root, number, manifest=manifest, previous=previous, scratch=scratch)
    try:
        newest = np.arange(opened.manifest.counts.signals)[-1:]
        for record in opened.signals.records(newest):
            selection = Selection(str(record["tenant_id"]))
            opened.vectors.search(opened.signals.vectors(newest)[0], selection, limit=LIMIT)
            stored = opened.vectors.take(newest.tolist(), ["text"])
            texts = stored["text"].to_pylist() or [WORDS]
            for text in (WORDS, texts[0]):
                opened.lexicon.search(text, selection, limit=LIMIT)
            opened.graph.edges_of(newest)
            opened.graph.entities_of(newest)
            opened.signals.token_codes(newest)
    except BaseException:
        opened.close()
        raise
    return opened


def is_machine_failure(error: BaseException) -> bool:
    """Whether memory, disk or file handles were short, which says nothing about the generation."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _RESOURCE_ERRORS):
        return True
    return error.__cause__ is not None and is_machine_failure(error.__cause__)


def _write_result(results: TextIO, problem: str, *, is_temporary: bool = False) -> None:
    results.write(json.dumps({"problem": problem, "is_temporary": is_temporary}) + "\n")
    results.flush()


if __name__ == "__main__":
    main()
