"""The peers' side of the exchange: `python -I ask.py ENGINE.py FOLDER HOME OUT --top-k 50`.

Runs in the peers' environment and imports nothing of Helix: the standard library, numpy and one engine.
Loads the documents of FOLDER, asks some questions to get warm, then every question once, alone, and writes
`results.jsonl` and `engine.json` to OUT. Only the search call is timed; vectors are given. Who reads them is
`exchange`. An engine that cannot be imported leaves `missing` in `engine.json`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np

WARM_UP_QUESTIONS = 20
KIB_PER_MIB = 1024


def main() -> None:
    """Answer every question with one engine."""
    parser = argparse.ArgumentParser()
    for name in ("engine", "folder", "home", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--top-k", type=int, required=True)
    given = parser.parse_args()
    try:
        engine = _engine(given.engine)
        facts, search = _load(engine, given.folder, given.home)
    except ImportError as error:
        _write(given.out / "engine.json", [{"missing": str(error)}])
        return
    answers = _ask(search, given.folder, given.top_k)
    _write(given.out / "results.jsonl", answers)
    _write(given.out / "engine.json", [facts | _costs(given.home)])


def _engine(path: Path) -> ModuleType:
    # By its place: a sibling on the path could hide the package it is named after.
    spec = importlib.util.spec_from_file_location(f"peer_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no engine at {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load(
    engine: ModuleType, folder: Path, home: Path
) -> tuple[dict[str, object], Callable[[str, np.ndarray, str, int], list[str]]]:
    documents = _rows(folder / "documents.jsonl")
    for document in documents:
        document["content"] = _content(document)
    began = time.perf_counter()
    search = engine.load(documents, np.load(folder / "vectors.npy"), home)
    seconds = time.perf_counter() - began
    version = importlib.metadata.version(engine.PACKAGE)
    facts = {"package": engine.PACKAGE, "version": version, "note": engine.NOTE, "load_seconds": seconds}
    return facts, search


def _content(document: dict[str, str]) -> str:
    """What is searched: the title, then the text with its speaker in front."""
    spoken = f"{document['speaker']}: {document['text']}" if document["speaker"] else document["text"]
    return f"{document['title']}\n{spoken}" if document["title"] else spoken


def _ask(
    search: Callable[[str, np.ndarray, str, int], list[str]], folder: Path, top_k: int
) -> list[dict[str, object]]:
    questions = _rows(folder / "questions.jsonl")
    asked = list(zip(questions, np.load(folder / "question_vectors.npy"), strict=True))
    for question, vector in asked[:WARM_UP_QUESTIONS]:
        search(question["text"], vector, question["tenant"], top_k)
    answers: list[dict[str, object]] = []
    for question, vector in asked:
        began = time.perf_counter()
        ranking = search(question["text"], vector, question["tenant"], top_k)
        milliseconds = (time.perf_counter() - began) * 1000
        answers.append({"question": question["handle"], "ranking": ranking, "milliseconds": milliseconds})
    return answers


def _costs(home: Path) -> dict[str, object]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, Linux KiB.
    mib = peak / KIB_PER_MIB / (KIB_PER_MIB if sys.platform == "darwin" else 1)
    disk = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    return {"peak_memory_mib": mib, "disk_bytes": disk}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
