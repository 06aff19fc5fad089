"""What `helix memory history` and `helix memory show` print."""

import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.commands.memory import state
from helix_memory.recall.v1 import recall_pb2

from .fake_service import FakeService
from .memory_commands import ASKED, FAR, REPLACED, WEAK


def history(service: FakeService, *options: str) -> str:
    """What `helix memory history` prints of a memory that replaced one, and hardly relates to another."""
    texts = {
        ASKED: "Tea on Tuesday.",
        REPLACED: "Tea on Monday.",
        WEAK: "The kettle is new.",
        FAR: "No kettle.",
    }
    service.history_reply = recall_pb2.GetHistoryResponse(
        memories=[
            recall_pb2.Memory(memory_id=one, text=text, occurred_at=datetime(2026, 10, 9, 22, 30, tzinfo=UTC))
            for one, text in texts.items()
        ],
        relations=[
            recall_pb2.HistoryRelation(
                newer_id=ASKED, older_id=REPLACED, relation="UPDATES", probability=0.9, counts=True
            ),
            recall_pb2.HistoryRelation(
                newer_id=ASKED, older_id=WEAK, relation="RELATES", probability=0.19, counts=True
            ),
            recall_pb2.HistoryRelation(
                newer_id=REPLACED, older_id=WEAK, relation="UPDATES", probability=0.05
            ),
            recall_pb2.HistoryRelation(newer_id=WEAK, older_id=FAR, relation="UPDATES", probability=0.8),
        ],
    )
    command = ["memory", "history", ASKED, "--tenant", "acme", "--query", service.address]
    result = CliRunner(env={"COLUMNS": "140"}).invoke(app, [*command, *options])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("relation", "is_weak"),
    [
        (recall_pb2.HistoryRelation(relation="UPDATES", probability=0.19), True),
        (recall_pb2.HistoryRelation(relation="UPDATES", probability=0.2), False),
        (recall_pb2.HistoryRelation(relation="UPDATES", probability=0.19, closed=True), False),
        (recall_pb2.HistoryRelation(relation="CORRECTS"), False),
    ],
)
def test_history_and_undo_have_one_rule_of_weak_relations(
    service: FakeService, relation: recall_pb2.HistoryRelation, *, is_weak: bool
) -> None:
    """What closed a memory or corrects it is shown however probable it is."""
    relation.newer_id, relation.older_id, relation.counts = ASKED, REPLACED, True
    service.history_reply = recall_pb2.GetHistoryResponse(
        memories=[recall_pb2.Memory(memory_id=one) for one in (ASKED, REPLACED)], relations=[relation]
    )
    result = CliRunner().invoke(
        app, ["memory", "history", ASKED, "--tenant", "acme", "--query", service.address]
    )
    assert result.exit_code == 0, result.stderr
    assert ("1 with a probability below 0.2 left out" in result.stdout) is is_weak
    before, after = (
        state.Seen(ASKED, recall_pb2.MemoryState(), reply)
        for reply in (service.history_reply, recall_pb2.GetHistoryResponse())
    )
    assert ("1 with a probability below 0.2" in state.undone(before, after).text) is is_weak


def test_weak_relations_are_left_out_with_what_only_they_relate(service: FakeService) -> None:
    """How many they are is said."""
    out = history(service)
    assert "UPDATES" in out
    assert "Tea on Monday." in out
    assert "RELATES" not in out
    assert "kettle" not in out
    assert "2 with a probability below 0.2 left out; --all shows them" in out


def test_all_shows_them(service: FakeService) -> None:
    """And so does `--json`, which is for programs."""
    out = history(service, "--all")
    assert ("RELATES" in out, "The kettle is new." in out, "left out" in out) == (True, True, False)
    assert len(json.loads(history(service, "--json"))["relations"]) == 4


def test_times_are_those_of_this_machine(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `helix recall` and `helix publish --time`."""
    monkeypatch.setenv("TZ", "Europe/Stockholm")
    assert "2026-10-10 00:30" in history(service)
    assert "2026-10-10 07:30" in history(service, "--tz", "Asia/Tokyo")


def test_times_of_one_memory_are_those_of_the_zone_that_is_named(service: FakeService) -> None:
    """An unknown zone is named before anything is asked."""
    moment = datetime(2026, 10, 9, 22, 30, tzinfo=UTC)
    service.memory_reply = recall_pb2.Memory(memory_id=ASKED, text="Tea.", occurred_at=moment)
    show = ["memory", "show", ASKED, "--tenant", "acme", "--query", service.address, "--tz"]
    tokyo = CliRunner().invoke(app, [*show, "Asia/Tokyo"])
    assert "2026-10-10 07:30+09:00" in " ".join(tokyo.stdout.split())
    unknown = CliRunner().invoke(app, [*show, "Mars/Olympus"])
    assert (unknown.exit_code, "--tz" in unknown.stderr) == (2, True)


def test_entities_of_a_memory_have_the_names_that_people_write(service: FakeService) -> None:
    """The canonical ones where a query service of an earlier version gives no others."""
    show = ["memory", "show", ASKED, "--tenant", "acme", "--query", service.address]
    service.memory_reply = recall_pb2.Memory(memory_id=ASKED, text="We met.", entities=["sao paulo"])
    assert "sao paulo" in CliRunner().invoke(app, show).stdout
    service.memory_reply.entity_display_names.append("S\u00e3o Paulo")
    told = CliRunner().invoke(app, show).stdout
    assert ("S\u00e3o Paulo" in told, "sao paulo" in told) == (True, False)


def test_what_does_not_count_is_called_ignored(service: FakeService) -> None:
    """Undone, taken back, or of a value that holds again; where whole ids are is said."""
    out = history(service, "--all")
    assert "ignored" in out
    assert "--json prints them whole" in out
