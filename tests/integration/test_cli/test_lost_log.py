"""A damaged byte in the log, from the first sign to memories that are all there again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix_cli.stack.stack import Stack
from tests.integration.damaged_log import damage

from .running import run, until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(600)]

FEW = {"doc2query": 0, "kg": 0, "forwarder": 0, "gateway": 0}
TEXTS = [
    "The spare key hangs behind the boiler.",
    "The release train leaves every second Tuesday.",
    "Priya has run the ledger on Postgres for years.",
    "The invoices go out on the last Friday.",
]


def recalled(home: Path, question: str) -> list[str]:
    """Texts of the memories for a question, best first."""
    found = json.loads(run(home, "recall", question, "--json")[1])
    return [one["memory"]["text"] for one in found["memories"]]


def log_of(home: Path, name: str) -> str:
    """What a process of the stack has logged."""
    return "".join(path.read_text(errors="replace") for path in (home / "logs").glob(f"{name}*"))


@pytest.mark.parametrize("reused", [False, True])
def test_events_that_the_log_lost_are_memories_and_events_again(
    tmp_path: Path, models_dir: Path, *, reused: bool
) -> None:
    """The writer refuses the log, and says what helps; nothing is lost, not even what came meanwhile."""
    home = tmp_path / "home"

    def stack() -> Stack:
        return Stack(home, nats_port=0, query_port=0, models=models_dir, copies=FEW)

    with stack() as running:
        running.wait_ready()
        for text in TEXTS:
            assert run(home, "publish", "--text", text, "--wait")[0] == 0
    damage(home / "data" / "nats", b"release train")
    with stack() as running:
        until(lambda: "helix archive restore" in log_of(home, "consolidation"))
        for number in range(4 * reused):
            assert run(home, "publish", "--text", f"Locker {number} is taken.")[0] == 0
    code, out, err = run(home, "archive", "restore", "--json")
    assert code == 0, err
    made: dict[str, Any] = json.loads(out)
    assert (made["archived"], made["later"]) == (len(TEXTS), 4 * reused)
    if made["needs_rebuild"]:
        assert run(home, "rebuild", "--accept-differences")[0] == 0
    with stack() as running:
        running.wait_ready()
        assert run(home, "publish", "--text", "The lift is out of order.", "--wait")[0] == 0
        for text in (*TEXTS, "The lift is out of order.", *["Locker 3 is taken."] * reused):
            assert recalled(home, text)[0] == text
        status = json.loads(run(home, "status", "--json")[1])
        assert status["query"]["memories"] == len(TEXTS) + 1 + 4 * reused
