import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.recall.v1 import recall_pb2

from .fake_service import FakeService

ASKED, REPLACED, WEAK, FAR = "a" * 32, "b" * 32, "c" * 32, "d" * 32


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


def test_what_was_undone_is_called_so(service: FakeService) -> None:
    """A relation that no longer counts; the tables cut ids, and say where whole ones are."""
    out = history(service, "--all")
    assert "undone" in out
    assert "--json prints them whole" in out


@pytest.mark.parametrize("command", ["history", "undo", "forget", "restore"])
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("aaaa", "begins the ids of several memories: aaaa0"),
        ("bbbb", "no memory whose id begins with bbbb is visible to this scope"),
    ],
)
def test_the_beginning_of_an_id_that_tells_no_memory_is_refused(
    service: FakeService, command: str, given: str, reason: str
) -> None:
    """Nothing is published, and no other memory is taken."""
    service.ids = ["aaaa0" + "0" * 27, "aaaa1" + "0" * 27]
    options = ["--tenant", "acme", "--query", service.address]
    options += [] if command == "history" else ["--nats", "nats://127.0.0.1:1"]
    result = CliRunner().invoke(app, ["memory", command, given, *options])
    assert result.exit_code != 0
    assert reason in result.stderr


def test_the_beginning_of_an_id_is_enough(service: FakeService) -> None:
    """As the tables show it, in either case of letters."""
    service.ids = [ASKED, "abcd" + "0" * 28]
    for given in (ASKED[:8], ASKED[:8].upper(), ASKED, ASKED.upper()):
        options = ["--tenant", "acme", "--query", service.address]
        assert CliRunner().invoke(app, ["memory", "history", given, *options]).exit_code == 0
        assert service.history_request.memory_id == ASKED


@pytest.mark.parametrize("command", ["history", "undo", "forget", "restore"])
@pytest.mark.parametrize("given", ["a", "8d", "8d1", "tea!", "a" * 33])
def test_what_is_no_beginning_of_an_id_is_refused_with_what_is_enough(command: str, given: str) -> None:
    """Before anything is asked or published; `--help` says the same."""
    enough = "at least the first 4 hexadecimal digits of an id"
    nowhere = ["--query", "127.0.0.1:1"] + ([] if command == "history" else ["--nats", "nats://127.0.0.1:1"])
    result = CliRunner().invoke(app, ["memory", command, given, "--tenant", "acme", *nowhere])
    assert result.exit_code == 2
    assert enough in result.stderr
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["memory", command, "--help"]).stdout
    assert enough in " ".join(shown.split())
