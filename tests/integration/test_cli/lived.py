"""Memories of a tenant after all that can happen to them: corrected, forgotten, restored, erased, undone."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.vectors.reader import VectorReader

from .running import run

SAID = (
    "We picked Postgres for the ledger, Priya has run it for years.",
    "The release train leaves every second Tuesday at ten.",
    "Lukas moved to Porto in March and works from there.",
    "The spare key of the lab hangs behind the boiler.",
    "I live in Berlin.",
    "Yes, the migration of the search index is done.",
    "I moved, I live in Hamburg now.",
    "What was the name of that ramen place again?",
    "The release train leaves every second Thursday at nine.",
    "He says the boiler has to be replaced in May.",
)


def lived_events() -> list[dict[str, Any]]:
    """Turns, versions of a document, and notes of the tenant acme."""
    turn = {"kind": "message", "tenant_id": "acme", "role": "user", "speaker": "Mira"}
    turns = [
        turn | {"session_id": f"s{n % 3}", "event_id": f"e{n}", "text": f"{SAID[n % len(SAID)]} ({n // 10})"}
        for n in range(30)
    ]
    page = {"kind": "document", "tenant_id": "acme", "document_id": "handbook", "title": "Handbook"}
    pages = [
        page | {"event_id": "d1", "body": "Invoices go out on the last Friday. Ask Jana for the seal."},
        page | {"event_id": "d2", "body": "Invoices go out on the first Monday. Ask Jana for the seal."},
    ]
    note = {"kind": "message", "tenant_id": "acme", "session_id": "v", "role": "user"}
    notes = [
        note | {"event_id": "v2", "text": "The blue van is sold."},
        note | {"event_id": "v3", "text": "The red van is sold."},
        note | {"event_id": "v1", "text": "The vault opens with xyzzyplugh42."},
    ]
    return [*turns, *pages, *notes]


def change(home: Path, data: Path) -> None:
    """Correct, forget, restore, undo, erase, and give feedback."""
    ids = {row["text"]: one for one, row in memories_of(data).items()}
    # first, and to its end: what is decided while the log still has the event may rest on it
    assert run(home, "erase", ids["The vault opens with xyzzyplugh42."], "--wait-seconds", "120")[0] == 0
    # by text: ordinals, and so the first row of any kind, follow the order of arrival
    key, closed = ids[f"{SAID[3]} (0)"], ids[f"{SAID[2]} (0)"]
    assert run(home, "memory", "correct", key, "The spare key hangs in the hall.")[0] == 0
    assert run(home, "memory", "forget", ids["The blue van is sold."])[0] == 0
    assert run(home, "memory", "forget", ids["The red van is sold."])[0] == 0
    assert run(home, "memory", "restore", ids["The red van is sold."])[0] == 0
    fields = {"tenant_id": "acme"}
    assert memories_of(data)[closed]["superseded_by"], "a later turn says the same with another number"
    publish(
        home,
        [
            fields | {"kind": "feedback", "event_id": "x2", "memory_ids": [key], "helpful": True},
            fields | {"kind": "undo", "event_id": "x3", "memory_id": closed},
            fields | {"kind": "forget", "event_id": "x4", "memory_ids": ["0" * 32]},
        ],
    )


def publish(home: Path, events: list[dict[str, Any]]) -> None:
    """Publish events of acme, and wait until they can be recalled."""
    file = home / f"{events[0]['event_id']}.jsonl"
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    code, out, err = run(home, "publish", str(file), "--wait")
    assert code in (0, 1), out + err


def current(data: Path) -> Path:
    """The current generation of a data folder."""
    number = current_number(data)
    assert number is not None
    return folder_of(data, number)


def memories_of(data: Path) -> dict[str, Any]:
    """Some columns of the memories of a data folder, by id."""
    reader = VectorReader(current(data))
    ordinals = np.concatenate([batch for batch, _ in reader.all_vectors()])
    columns = ("memory_id", "text", "hidden", "superseded_by")
    rows = reader.take(np.sort(ordinals), columns).to_pylist()
    return {row["memory_id"]: {name: row[name] for name in columns} for row in rows}
