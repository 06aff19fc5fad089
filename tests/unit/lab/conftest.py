"""A small set made up here: two tenants, chats and titled notes, every id marked so that a leak shows."""

import gzip
import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.load import load_set

MARK = "zzleak"
"""Occurs in every id of the set and in no text."""
PEOPLE = ("Ada", "Bruno", "Chen", "Dora")
PLACES = ("harbour", "library", "museum", "station", "garden", "bakery", "theatre")
THINGS = ("kettle", "bicycle", "violin", "ladder", "lantern", "umbrella", "compass", "typewriter")


SYLLABLES = ("ka", "lo", "mi", "ren", "tus", "vel", "dor", "sha", "pi", "gan", "zor", "lum")


def words(drawn: random.Random) -> str:
    """Five words that hardly any other text has: near ties would hang on the last digit of a score."""
    return " ".join("".join(drawn.choices(SYLLABLES, k=3)) for _ in range(5))


def write_set(
    folder: Path, documents: Iterable[dict[str, Any]], queries: Iterable[dict[str, Any]], qrels: Iterable[str]
) -> Path:
    """A set folder of these lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", documents), ("queries", queries)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in rows)
    (folder / "qrels.tsv").write_text("query-id\tdoc-id\tscore\n" + "".join(f"{line}\n" for line in qrels))
    return folder


def generated(folder: Path, *, turns: int, notes: int) -> Path:
    """A set of `turns` turns in one tenant and `notes` notes in another, with a question to every seventh."""
    drawn = random.Random(5)
    documents: list[dict[str, Any]] = []
    for n in range(turns):
        who, place, thing = PEOPLE[n % 4], PLACES[n % 7], THINGS[(n // 3) % 8]
        documents.append(
            {
                "id": f"{MARK}-turn-{n}",
                "text": f"I left the {thing} at the {place} beside {words(drawn)}, bring it back soon.",
                "speaker": who,
                "session_id": f"{MARK}-session-{n // 12}",
                "tenant": f"{MARK}-chat",
                "timestamp": f"2024-03-{1 + n % 28:02}T10:00:00",
            }
        )
    documents += [
        {
            "id": f"{MARK}-note-{n}",
            "title": f"Inventory {THINGS[n % 8]} {n}",
            "text": f"The {THINGS[n % 8]} was repaired by {PEOPLE[n % 4]} with {words(drawn)}.",
            "tenant": f"{MARK}-notes",
            "timestamp": f"2023-05-{1 + n % 28:02}",
        }
        for n in range(notes)
    ]
    asked = documents[::7]
    queries = [
        {
            "id": f"{MARK}-question-{n}",
            "text": f"Where is it: {' '.join(document['text'].split()[3:11])}?",
            "tenant": document["tenant"],
            "category": "chat" if "speaker" in document else "note",
            "timestamp": "2024-06-01T00:00:00",
        }
        for n, document in enumerate(asked)
    ]
    qrels = [f"{query['id']}\t{document['id']}\t1" for query, document in zip(queries, asked, strict=True)]
    return write_set(folder, documents, queries, qrels)


@pytest.fixture(scope="session")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> EvaluationSet:
    """48 turns, 24 notes, 11 questions."""
    return load_set(generated(tmp_path_factory.mktemp("sets") / "small", turns=48, notes=24))


@pytest.fixture
def make_set(tmp_path: Path) -> Callable[..., EvaluationSet]:
    """Makes sets of one's own size under a name."""

    def make(name: str, *, turns: int, notes: int) -> EvaluationSet:
        return load_set(generated(tmp_path / "sets" / name, turns=turns, notes=notes))

    return make


@pytest.fixture
def run_command() -> Callable[..., Result]:
    """Runs a command of the lab with its arguments; its errors are raised."""

    def run(command: Callable[..., None], *arguments: object) -> Result:
        app = typer.Typer()
        app.command()(command)
        return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)

    return run


@pytest.fixture
def own_home(tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A HELIX_HOME of the test's own with the model that is there already."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "models").symlink_to(models_dir)
    monkeypatch.setenv("HELIX_HOME", str(tmp_path / "home"))
