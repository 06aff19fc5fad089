"""Run the peers: one process an engine, one after the other, so that none disturbs another's times.

A peer that cannot answer is named with its reason and the others go on. Every process gets a clean
environment: no network is needed, telemetry is off, and thread pools have their own default sizes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from helix_lab.peers.exchange import read_missing, read_run, write_exchange
from helix_lab.sets.answers import Run
from helix_lab.sets.data import EvaluationSet
from helix_shared.errors import CorruptArtifactError, InvalidInputError

ENGINES: Final = (
    "lancedb_hybrid",
    "txtai_hybrid",
    "chroma",
    "mem0_verbatim",
    "bm25",
    "lancedb_dense",
    "exact",
)
"""Every peer, in the order of the table."""

HERE: Final = Path(__file__).parent
LIMITING: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
"""Variables that size a thread pool; those set for Helix do not apply to a peer."""
SILENT: Final = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
SHOWN_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A peer without figures."""

    name: str
    reason: str


def check_engines(names: Sequence[str]) -> None:
    """Refuse a name that is no peer's.

    Raises:
        InvalidInputError: there is no such engine; names those there are.
    """
    for name in names:
        if name not in ENGINES:
            raise InvalidInputError("engines", f"{name!r} is none of {', '.join(ENGINES)}")


def run_peers(
    data: EvaluationSet,
    vectors: np.ndarray,
    question_vectors: np.ndarray,
    *,
    engines: Sequence[str] = ENGINES,
    python: Path,
    top_k: int = 50,
    folder: Path,
    timeout_seconds: float = 3_600.0,
    advance: Callable[[str], None] = lambda _engine: None,
) -> list[Run | Unavailable]:
    """Put every question of `data` to each of `engines`; in their order.

    Row n of `vectors` is document n, of `question_vectors` question n, both of unit length. `python` is the
    interpreter of the peers' environment. The output of an engine stays in `folder`/ENGINE, for `read_costs`;
    `advance` is called with set and engine before one starts.

    Raises:
        InvalidInputError: there is no such engine, or the vectors do not fit the set.
    """
    check_engines(engines)
    write_exchange(data, vectors, question_vectors, folder)
    results: list[Run | Unavailable] = []
    for name in engines:
        advance(f"{data.name}: {name}")
        results.append(
            _run_one(data, name, python=python, top_k=top_k, folder=folder, timeout_seconds=timeout_seconds)
        )
    return results


def _run_one(
    data: EvaluationSet, name: str, *, python: Path, top_k: int, folder: Path, timeout_seconds: float
) -> Run | Unavailable:
    out = folder / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    with tempfile.TemporaryDirectory(prefix=f"helix-peer-{name}-") as home:
        engine = HERE / "engines" / f"{name}.py"
        # Absolute but not resolved: the interpreter of an environment is a link out of it.
        paths = map(str, (engine, folder, home, out))
        command = [str(python.absolute()), "-I", str(HERE / "ask.py"), *paths, "--top-k", str(top_k)]
        try:
            done = subprocess.run(  # noqa: S603  our own script, arguments of our own
                command,
                env=_environment(home),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_seconds,
                check=False,
            )
        except OSError as error:
            return Unavailable(name, f"no environment at {python} ({error.strerror}); run `make peers-setup`")
        except subprocess.TimeoutExpired:
            return Unavailable(name, f"gave no answers within {timeout_seconds:.0f} s")
    missing = read_missing(out)
    if missing:
        return Unavailable(name, f"{missing}; run `make peers-setup`")
    if done.returncode != 0:
        return Unavailable(name, f"ended with {done.returncode}: {_last_line(done.stderr)}")
    try:
        return read_run(data, name, out)
    except CorruptArtifactError as error:
        return Unavailable(name, str(error))


def _environment(home: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in LIMITING}
    return kept | SILENT | {"HOME": home}


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:SHOWN_CHARACTERS] if lines else "no word why"
