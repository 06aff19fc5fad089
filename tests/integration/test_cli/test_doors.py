"""Importing files of every kind, and what `--wait` says of refused events, with all processes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_cli.stack.stack import Stack
from tests.unit.ingest.documents.conftest import make_pdf

from .running import run

pytestmark = pytest.mark.integration

UNKNOWN = "f" * 32
NOWHERE = "could recall before it"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, models_dir: Any) -> Iterator[Path]:
    """Home of a running stack."""
    folder = tmp_path_factory.mktemp("doors")
    with Stack(folder, nats_port=0, query_port=0, models=models_dir) as stack:
        stack.wait_ready()
        yield folder


def best(home: Path, question: str, *options: str) -> dict[str, Any]:
    """The first memory of a recall; empty if there is none."""
    code, out, err = run(home, "recall", question, "--json", *options)
    assert code == 0, err
    found = json.loads(out).get("memories", [])
    return dict(found[0]["memory"]) if found else {}


def test_a_folder_of_files_is_recalled_replaced_and_deleted(home: Path, tmp_path: Path) -> None:
    """HTML, PDF and code; a broken PDF file is named, and the others are published."""
    folder = tmp_path / "shop"
    folder.mkdir()
    page = "<title>Shop</title><h1>Opening hours</h1><p>The workshop opens at {} on Saturdays.</p>"
    (folder / "hours.html").write_text(page.format("nine"))
    (folder / "price.pdf").write_bytes(make_pdf("Oak table\nThe oak table costs 640 euros."))
    (folder / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    (folder / "glue.py").write_text(
        'def glue_time(wood):\n    """Minutes until the glue is dry."""\n    return 40\n'
    )
    code, out, err = run(home, "import", str(folder), "--wait")
    assert (code, "published 3, duplicates 0, refused 1" in out) == (1, True), out + err
    assert f"refused {folder}/torn.pdf: file: is no PDF file that can be read" in err
    assert "document shop/price.pdf" in out
    assert "640 euros" in best(home, "what does the oak table cost?")["text"]
    assert best(home, "how long until the glue is dry?")["type"] == "code"
    assert "opens at nine" in best(home, "when does the workshop open?")["text"]

    code, out, err = run(home, "recall", "what does the oak table cost?", "--packed", "--budget", "5")
    assert (code, out.strip(), "no memory fits the token budget" in err) == (0, "", True), out + err
    two = run(home, "recall", "what does the oak table cost?", "how long until the glue is dry?", "--packed")[
        1
    ]
    table, _, glue = two.partition("\n\nhow long until the glue is dry?\n")
    assert table.startswith("what does the oak table cost?\n[1] ")
    assert glue.startswith("[1] ")

    (folder / "hours.html").write_text(page.format("ten"))
    alone = ("import", str(folder / "hours.html"), "--root", str(folder), "--wait")
    assert run(home, *alone)[0] == 0
    assert "opens at ten" in best(home, "when does the workshop open?")["text"]

    delete = ("publish", "--kind", "document", "--set", "deleted=true", "--wait", "--set")
    code, _, err = run(home, *delete, "document_id=shop/prices.pdf")
    assert (code, "document_id: names nothing" in err) == (1, True), err
    assert run(home, *delete, "document_id=shop/price.pdf")[0] == 0
    assert "640" not in best(home, "what does the oak table cost?").get("text", "")

    again = ("import", str(folder / "price.pdf"), "--root", str(folder), "--wait")
    code, out, err = run(home, *again)
    assert (code, "duplicates 1" in out, "`touch` its file" in err) == (0, True, True), out + err
    later = (folder / "price.pdf").stat().st_mtime + 5
    os.utime(folder / "price.pdf", (later, later))
    code, out, err = run(home, *again)
    assert (code, "published 1" in out, "touch" in err) == (0, True, False), out + err
    assert "640 euros" in best(home, "what does the oak table cost?")["text"]


MOVED: dict[str, Any] = {
    "mem0.json": {
        "results": [
            {
                "id": "m-1",
                "memory": "Ines plays the oboe in an orchestra",
                "user_id": "ines",
                "created_at": "2025-05-01T08:00:00Z",
            }
        ]
    },
    "openmemory.json": {
        "user": {"id": "u", "user_id": "ines"},
        "memories": [
            {
                "id": "m-2",
                "content": "Ines keeps a tortoise called Emil",
                "state": "archived",
                "created_at": "2025-05-01T08:00:00Z",
                "category_ids": [],
            }
        ],
    },
    "zep.json": [
        {
            "uuid": f"e-{town}",
            "source_node_uuid": "n-1",
            "target_node_uuid": "n-2",
            "name": "RENTS_IN",
            "fact": f"Bernadette rents a studio in {town}",
            "created_at": "2025-03-02T09:00:00Z",
            "valid_at": "2024-06-01T00:00:00Z",
            "invalid_at": ended,
        }
        for town, ended in (("Zagreb", "2025-01-01T00:00:00Z"), ("Trieste", None))
    ],
    "hindsight.json": {
        "items": [
            {
                "id": "h-1",
                "text": "Oluwaseun measures glaciers near Bergen.",
                "fact_type": "world",
                "mentioned_at": "2025-04-10T12:00:00Z",
                "state": "valid",
            }
        ],
        "total": 1,
    },
    "memory.jsonl": {
        "type": "entity",
        "name": "Kazimir",
        "entityType": "person",
        "observations": ["repairs harpsichords"],
    },
    "note.md": "---\ntitle: Kiln\ntype: note\npermalink: kiln\n---\n- [fact] it is fired at 1240 degrees\n",
}


def test_a_fact_of_each_memory_system_is_recalled(home: Path, tmp_path: Path) -> None:
    """What was archived or has ended is not recalled, and importing again adds nothing."""
    for name, told in MOVED.items():
        (tmp_path / name).write_text(told if isinstance(told, str) else json.dumps(told), encoding="utf-8")
    paths = [str(tmp_path / name) for name in MOVED]
    code, out, err = run(home, "import", *paths, "--tenant", "movers", "--wait", "--json")
    assert code == 0, out + err
    counts = json.loads(out)["counts"]
    assert counts == {"memory events": 7, "correct events": 1, "forget events": 1} | {
        "left out: notes without text beside their observations and relations": 1
    }
    asked = {
        "what does Ines play?": "oboe",
        "where does Bernadette rent a studio?": "Trieste",
        "what does Oluwaseun measure?": "glaciers",
        "what does Kazimir repair?": "Kazimir: repairs harpsichords",
        "at how many degrees is the kiln fired?": "Kiln: it is fired at 1240 degrees",
    }
    scope = ("--tenant", "movers", "--user", "ines")
    for question, answer in asked.items():
        assert answer in best(home, question, *scope)["text"], question
    listed = run(home, "memory", "ls", *scope, "--json")[1]
    assert ("tortoise" in listed, "Zagreb" in listed, "harpsichords" in listed) == (False, False, True)
    again = json.loads(run(home, "import", *paths, "--tenant", "movers", "--json")[1])
    assert (again["published"], again["duplicates"]) == (0, 9)


def test_waiting_tells_what_became_of_an_event(home: Path) -> None:
    """Refused by consolidation in two ways, or carried out; a program gets the reason as JSON."""
    said = ("publish", "--session", "s", "--text", "The harp is in room 12.", "--user", "ana", "--wait")
    assert run(home, *said)[0] == 0
    harp = best(home, "where is the harp?", "--user", "ana")["memory_id"]
    correct = ("publish", "--kind", "correct", "--text", "The harp is in room 14.", "--wait")
    acts = (
        ("memory", "undo", UNKNOWN, "--wait"),
        ("memory", "undo", harp, "--user", "bob", "--wait"),
        ("publish", "--kind", "forget", "--set", f'memory_ids=["{UNKNOWN}"]', "--wait"),
        (*correct, "--set", f"memory_id={harp}", "--user", "bob"),
    )
    for refused in (*acts, ("memory", "correct", harp, "The harp is gone.", "--user", "bob")):
        code, out, err = run(home, *refused)
        assert (code, NOWHERE in err, "recallable" in out) == (1, True, False), out + err
    code, out, _ = run(home, "memory", "undo", UNKNOWN, "--wait", "--json")
    (refusal,) = json.loads(out)["refused"]
    assert (code, refusal["field"], NOWHERE in refusal["reason"]) == (1, "memory_id", True)
    code, out, err = run(home, "memory", "undo", harp)
    assert (code, "it has no relation that counts" in err, out) == (4, True, ""), out + err
    assert run(home, *correct, "--set", f"memory_id={harp}")[0] == 0
    assert "room 14" in best(home, "where is the harp?", "--user", "ana")["text"]
    code, _, err = run(home, "why-not", harp, "where is the harp?")
    assert (code, "without --user" in err) == (1, True), err


def test_what_was_forgotten_says_so_and_comes_back(home: Path) -> None:
    """By the first digits of its id; `why-not` tells when, and by which event."""
    text = "The spare key of the chapel hangs behind the organ."
    assert run(home, "publish", "--session", "k", "--text", text, "--user", "eva", "--wait")[0] == 0
    asked, eva = "where does the spare key of the chapel hang?", ("--user", "eva")
    key = best(home, asked, *eva)["memory_id"]
    assert run(home, "memory", "forget", key[:8], "--wait")[0] != 0
    assert run(home, "memory", "forget", key[:8], *eva, "--wait")[0] == 0
    assert "organ" not in run(home, "recall", asked, *eva)[1]
    assert "organ" not in run(home, "recall", "where did the spare key of the chapel hang before?", *eva)[1]
    code, out, err = run(home, "why-not", key[:8], asked, *eva)
    assert (code, "It was forgotten on" in out, "by the event with sequence" in out) == (0, True, True), err
    assert f"helix memory restore {key}" in " ".join(out.split())
    assert run(home, "why-not", key, asked, "--user", "bob")[0] == 1
    code, _, err = run(home, "memory", "forget", key[:8], *eva)
    assert (code, "it is forgotten already, by the event with sequence" in err) == (4, True), err
    assert run(home, "memory", "restore", key[:8], *eva, "--wait")[0] == 0
    code, _, err = run(home, "memory", "restore", key[:8], *eva)
    assert (code, "it was not forgotten" in err) == (4, True), err
    assert best(home, asked, *eva)["memory_id"] == key
    code, _, err = run(home, "memory", "undo", key[:8], "--other", UNKNOWN, *eva, "--wait")
    assert (code, NOWHERE in err) == (1, True), err


def test_a_memory_is_corrected_pinned_and_taken_back(home: Path) -> None:
    """By the id of its first version all along; what no event names stays."""
    said = ("publish", "--kind", "memory", "--type", "decision", "--title", "Bakery", "--user", "eva")
    assert run(home, *said, "--text", "The bakery opens at six.", "--wait")[0] == 0
    asked, eva = ("when does the bakery open?", "--user", "eva"), ("--user", "eva")
    first = best(home, *asked)["memory_id"]
    for change in (("correct", first, "The bakery opens at seven."), ("pin", first)):
        code, out, err = run(home, "memory", *change, *eva)
        assert (code, f"{first[:8]}: " in out, "the new version is" in out) == (0, True, True), out + err
    found = best(home, *asked)
    assert [found[name] for name in ("text", "title", "type", "user_id", "pinned")] == [
        "The bakery opens at seven.",
        "Bakery",
        "decision",
        "eva",
        True,
    ]
    for again in (("correct", first, "The bakery opens at seven."), ("pin", found["memory_id"])):
        code, out, err = run(home, "memory", *again, *eva)
        assert (code, "already" in err, out) == (4, True, ""), out + err
    code, out, err = run(home, "memory", "unpin", first, *eva, "--json")
    version = json.loads(out)["changed"][first]
    assert (code, best(home, *asked)["memory_id"]) == (0, version), err
    assert not best(home, *asked).get("pinned")
    code, out, err = run(home, "memory", "undo", first, *eva)
    assert (code, out.count("CORRECTS")) == (0, 3), out + err
    assert best(home, *asked)["text"] == "The bakery opens at six."


def test_a_dated_conversation_is_replayed_and_asked_about_in_its_time(home: Path) -> None:
    """Stored today, so nothing was known then; the hint names the option that finds it."""
    turns = (("2026-03-02 18:30", "Ana", "We moved to Lisbon."), ("2026-03-09", "Luis", "I sold the boat."))
    for when, who, text in turns:
        said = ("publish", "--session", "trip", "--speaker", who, "--time", when, "--tz", "Europe/Lisbon")
        assert run(home, *said, "--text", text, "--wait")[0] == 0
    memory = best(home, "who sold the boat?")
    assert (memory["source"]["speaker"], memory["occurred_at"]) == ("Luis", "2026-03-09T00:00:00Z")
    code, out, err = run(home, "recall", "where do we live?", "--as-of", "2026-04-01")
    assert (code, "nothing found" in out, "--valid-at 2026-04-01" in err) == (0, True, True), out + err
