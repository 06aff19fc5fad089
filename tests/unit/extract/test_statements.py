"""Rows of statements: what consolidation accepts, with vectors, and times and scope of the turn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from helix_consolidation.folding.incoming.rows import check_statements
from helix_extract.answers.check import check
from helix_extract.statements import StatementsBuilder
from helix_shared import edges
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.identity import memory_id, statement_id

from .windows import window

ANSWER = {
    "entities": [{"name": "Odile", "type": "person"}, {"name": "Ghent", "type": "place"}],
    "memories": [
        {
            "text": "Odile moved to Ghent on 1 May 2026.",
            "kind": "event",
            "turns": [2],
            "quote": "Odile moved to Ghent",
            "valid_from": "2026-05-01",
            "entities": [0],
            "questions": ["where does the potter live now"],
            "confidence": 0.5,
        },
        {"text": "Mara likes cobalt.", "kind": "preference", "turns": [1], "quote": "I love cobalt"},
    ],
    "links": [{"from": 0, "to": 1, "relation": "moved to", "turn": 2}],
}


def test_statements_are_whole_rows_that_consolidation_accepts(models_dir: Path) -> None:
    """Text and vector belong together; scope and times are the turn's; a link is a typed relation."""
    asked = window("I love cobalt, it fires well.", "Odile moved to Ghent in May.", user_id="mara")
    checked = check(ANSWER, asked)
    assert not checked.dropped
    with Encoder.load(default_model(models_dir), lanes=1) as encoder:
        message = StatementsBuilder(encoder, reading="1").build(asked, checked, "0" * 32)
        again = StatementsBuilder(encoder, reading="2").build(asked, checked, "0" * 32)
        assert (again.body, again.message_id != message.message_id) == (message.body, True)
        origin, batch = edges.decode(message.body)
        check_statements(origin, batch)
        moved, likes = batch.to_pylist()
        assert np.array_equal(np.array(moved["vector"], np.float32), encoder.embed(moved["text"]))
    assert (origin.edge, origin.event_sequence, message.subject) == (
        "statements",
        2,
        "helix.v1.derived.statements.acme",
    )
    assert (moved["user_id"], moved["session_id"], moved["stream_sequence"]) == ("mara", "s", 2)
    assert (moved["derived_from"], likes["derived_from"]) == (
        memory_id("acme", "e2", 0),
        memory_id("acme", "e1", 0),
    )
    assert moved["memory_id"] == statement_id(memory_id("acme", "e2", 0), 0)
    assert (moved["event_start"], moved["event_end"]) == (
        datetime(2026, 5, 1, tzinfo=UTC),
        datetime(2026, 5, 2, tzinfo=UTC),
    )
    assert (moved["type"], likes["type"], round(moved["confidence"], 2)) == ("episodic", "semantic", 0.4)
    assert {(link["edge"], link["name"]) for link in moved["links"]} == {
        ("MOVED_TO_SUBJECT", "odile"),
        ("MOVED_TO_OBJECT", "ghent"),
        ("MENTIONS", "mara"),
    }
    assert moved["expansions"] == ["where does the potter live now"]
