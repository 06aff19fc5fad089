"""A reply is the same to the byte with any data of other tenants in the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
NAMES = ("Rheinfelden", "Basel", "Zürich", "Aarau")
QUERIES = (
    "Where does the heron of the harbour sleep?",
    "the staging database listens on port 6543",
    "what did Ann decide about deploys on Friday",
    "ERR_4711 in src/auth/login.py",
)
MINE: list[dict[str, Any]] = [
    {"text": "The heron of the harbour sleeps on the crane of Basel.", "entities": ["Basel"]},
    {"text": "The grey heron eats fish in the harbour every morning.", "speaker": "ann"},
    {"text": "The staging database listens on port 6543 now.", "occurred_at": NOW - timedelta(days=2)},
    {"text": "The staging database listened on port 5432.", "occurred_at": NOW - timedelta(days=90)},
    {"text": "Ann decided: no deploys on Friday.", "type": "decision", "speaker": "ann"},
    {"text": "Login fails with ERR_4711 in src/auth/login.py when the clock is wrong.", "type": "code"},
    {"text": "Lunch in Zürich was fine.", "entities": ["Zürich"]},
    *({"text": f"Note {n}: port, heron, harbour, deploy, Friday and database are words."} for n in range(9)),
]
SHORT = ["heron", "port", "Friday deploys"]
LONG = [
    f"{name}: " + "the heron of the harbour and the staging database on port 6543 met on Friday, " * 12
    for name in (*NAMES, *(f"Chapter {n}" for n in range(9)))
]


@pytest.fixture
def replies(
    corpus_type: Any, encoder: Any, in_process: Callable[..., Any], tmp_path: Path
) -> Callable[[list[str]], list[str]]:
    """Replies to acme beside a tenant with these texts, as text without durations."""

    def ask(others: list[str]) -> list[str]:
        corpus = corpus_type.create(tmp_path / str(len(others)), encoder)
        # memories show their sequence in the log of all tenants, so the other texts are added last
        corpus.add([dict(row) for row in MINE])
        for part in (others[::2], others[1::2]):
            if part:
                corpus.add([{"text": text, "tenant_id": "globex", "entities": list(NAMES)} for text in part])
        corpus.publish()
        service = in_process(corpus.root)
        found = []
        for query in QUERIES:
            reply = service.recall(query, now=NOW, explain=True, never_skip=True)
            assert reply.memories
            assert not reply.degraded
            reply.ClearField("stages")
            reply.ClearField("total_milliseconds")
            found.append(str(reply))
        corpus.live.close()
        return found

    return ask


def test_a_reply_reveals_nothing_of_another_tenant(replies: Callable[[list[str]], list[str]]) -> None:
    """Scores, relevance and all numbers of the explanation, beside no other, short and long texts."""
    alone = replies([])
    assert replies(SHORT) == alone
    assert replies(LONG) == alone
