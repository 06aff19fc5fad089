import json
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from click.testing import Result
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.commands.memory import state
from helix_cli.output.exit_codes import UNCHANGED_EXIT, UNREACHABLE_EXIT
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


CHANGING = ["undo", "forget", "restore", "correct", "pin", "unpin"]


def invoked(command: str, given: str, *options: str) -> Result:
    """The result of a command; a correction has a text, too."""
    text = ["A text."] if command == "correct" else []
    nats = [] if command == "history" else ["--nats", "nats://127.0.0.1:1"]
    return CliRunner().invoke(app, ["memory", command, given, *text, "--tenant", "acme", *nats, *options])


@pytest.mark.parametrize("command", ["history", *CHANGING])
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
    result = invoked(command, given, "--query", service.address)
    assert result.exit_code != 0
    assert reason in result.stderr


def test_the_beginning_of_an_id_is_enough(service: FakeService) -> None:
    """As the tables show it, in either case of letters."""
    service.ids = [ASKED, "abcd" + "0" * 28]
    for given in (ASKED[:8], ASKED[:8].upper(), ASKED, ASKED.upper()):
        options = ["--tenant", "acme", "--query", service.address]
        assert CliRunner().invoke(app, ["memory", "history", given, *options]).exit_code == 0
        assert service.history_request.memory_id == ASKED


@pytest.mark.parametrize("command", ["history", *CHANGING])
@pytest.mark.parametrize("given", ["a", "8d", "8d1", "tea!", "a" * 33])
def test_what_is_no_beginning_of_an_id_is_refused_with_what_is_enough(command: str, given: str) -> None:
    """Before anything is asked or published; `--help` says the same."""
    enough = "at least the first 4 hexadecimal digits of an id"
    result = invoked(command, given, "--query", "127.0.0.1:1")
    assert result.exit_code == 2
    assert enough in result.stderr
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["memory", command, "--help"]).stdout
    assert enough in " ".join(shown.split())


VERSION = recall_pb2.Memory(memory_id=REPLACED, text="Tea on Tuesday.", pinned=True)
CORRECTED = recall_pb2.GetHistoryResponse(
    memories=[recall_pb2.Memory(memory_id=ASKED, text="Tea on Monday."), VERSION],
    relations=[
        recall_pb2.HistoryRelation(newer_id=REPLACED, older_id=ASKED, relation="CORRECTS", counts=True)
    ],
)


@pytest.mark.parametrize(
    ("command", "reason"),
    [("pin", "it is pinned already"), ("unpin", ""), ("correct", "")],
)
def test_the_last_version_of_a_memory_is_corrected(service: FakeService, command: str, reason: str) -> None:
    """What has the wanted value stays as it is: nothing is published, and the exit code tells."""
    service.ids, service.history_reply = [ASKED], CORRECTED
    result = invoked(command, ASKED, "--query", service.address)
    assert (result.exit_code, f"unchanged {ASKED[:8]}: {reason}" in result.stderr) == (
        (UNCHANGED_EXIT, True) if reason else (UNREACHABLE_EXIT, False)
    )


def test_the_other_versions_of_a_memory_are_told() -> None:
    """What corrects it and what it corrects, over several steps; what was taken back is none."""
    steps = [(REPLACED, ASKED, True), (WEAK, REPLACED, True), (FAR, WEAK, False)]
    found = recall_pb2.GetHistoryResponse(
        memories=[
            recall_pb2.Memory(memory_id=one, source=recall_pb2.Source(stream_sequence=number))
            for number, one in enumerate((ASKED, REPLACED, WEAK, FAR), 1)
        ],
        relations=[
            recall_pb2.HistoryRelation(newer_id=newer, older_id=older, relation="CORRECTS", counts=counts)
            for newer, older, counts in steps
        ],
    )
    before, after = state.Seen(WEAK, None, found), state.Seen(WEAK, a_state("FORGOTTEN"), None)
    assert before.other_versions == [ASKED, REPLACED]
    assert before.later_versions == []
    assert state.Seen(REPLACED, None, found).later_versions == [WEAK]
    shows = "; `helix memory restore` shows them again"
    all_told = state.forgotten(before, after).text
    assert all_told == f"forgotten with its other versions aaaaaaaa, bbbbbbbb{shows}"
    one_named = state.forgotten(before, after, named=[WEAK, ASKED]).text
    assert one_named == f"forgotten with its other version bbbbbbbb{shows}"
    alone = state.Seen(WEAK, None, recall_pb2.GetHistoryResponse())
    assert state.forgotten(alone, after).text == "forgotten; `helix memory restore` shows it again"


def test_a_forgotten_memory_is_not_corrected(service: FakeService) -> None:
    """The state names the event, so that the reason does."""
    service.ids, service.refuse = [ASKED], (grpc.StatusCode.NOT_FOUND, "no memory")
    service.states = [recall_pb2.MemoryState(loss=recall_pb2.LOSS_FORGOTTEN, event_sequence=7)]
    result = invoked("pin", ASKED, "--query", service.address, "--json")
    reason = "it is forgotten by the event with sequence 7; restore it first"
    assert (result.exit_code, json.loads(result.stdout)) == (
        UNCHANGED_EXIT,
        {"changed": {}, "unchanged": {ASKED: reason}},
    )


def test_pinning_an_unknown_memory_fails(service: FakeService) -> None:
    """Its text is needed; without a user the hint says whose memories are looked at."""
    service.refuse = (grpc.StatusCode.NOT_FOUND, "no memory")
    result = invoked("pin", ASKED, "--query", service.address)
    assert result.exit_code == 1
    assert "is visible to this scope; without --user" in result.stderr


@pytest.mark.parametrize(
    ("loss", "wanted", "reason"),
    [
        ("FORGOTTEN", {"text": "Tea."}, "it is forgotten by the event with sequence 7; restore it first"),
        ("ERASED", {"text": "Tea."}, "it is erased by the event with sequence 7, which cannot be taken back"),
        ("NOT_VALID", {"text": "Tea."}, ""),
        ("NOT_VALID", {"pinned": True}, "it has expired, is not valid now, or its document has another"),
        ("NONE", {"pinned": True}, ""),
    ],
)
def test_why_a_hidden_memory_has_no_correction(loss: str, wanted: dict[str, Any], reason: str) -> None:
    """A text is given to what has expired; a pin needs the text, which is not served."""
    found = state.nothing_to_correct(state.Seen(ASKED, a_state(loss, event_sequence=7), None), wanted)
    assert found.startswith(reason)
    assert bool(found) == bool(reason)


def a_state(loss: str, **fields: Any) -> recall_pb2.MemoryState:
    """A state by the name of what hides the memory."""
    return recall_pb2.MemoryState(loss=recall_pb2.Loss.Value(f"LOSS_{loss}"), **fields)


HIDDEN, ERASED = a_state("FORGOTTEN", event_sequence=7), a_state("ERASED", event_sequence=8)
SHOWN, DECAYED, CLOSED = a_state("NONE"), a_state("DECAYED"), a_state("REPLACED", replaced_by=REPLACED)


@pytest.mark.parametrize(
    ("told", "before", "after", "text", "is_change"),
    [
        (state.forgotten, SHOWN, HIDDEN, "forgotten;", True),
        (state.forgotten, None, HIDDEN, "forgotten;", True),
        (state.forgotten, HIDDEN, HIDDEN, "it is forgotten already, by the event with sequence 7", False),
        (state.forgotten, ERASED, ERASED, "it is erased already, by the event with sequence 8", False),
        (state.forgotten, SHOWN, SHOWN, "a later event restored it", False),
        (state.restored, HIDDEN, SHOWN, "restored", True),
        (state.restored, DECAYED, SHOWN, "restored", True),
        (state.restored, HIDDEN, CLOSED, "restored, but it holds no longer: bbbbbbbb replaced it", True),
        (state.restored, HIDDEN, HIDDEN, "it is forgotten by the event with sequence 7; restore what", False),
        (state.restored, SHOWN, SHOWN, "it was not forgotten", False),
        (state.restored, CLOSED, CLOSED, "it was not forgotten; it holds no longer", False),
        (state.restored, ERASED, ERASED, "it was not forgotten; it is erased by the event", False),
        (state.undone, HIDDEN, HIDDEN, "it is forgotten by the event with sequence 7: no relation", False),
        (state.undone, SHOWN, SHOWN, "it has no relation that counts, and no correction", False),
    ],
)
def test_what_an_event_changed_is_told_by_what_is_served_before_and_after(
    told: Any, before: Any, after: Any, text: str, *, is_change: bool
) -> None:
    """Each rule with what it says; undoing with relations is below."""
    found = told(state.Seen(ASKED, before, None), state.Seen(ASKED, after, None))
    assert found.text.startswith(text)
    assert found.is_change == is_change


def test_an_undo_names_the_relations_that_no_longer_count() -> None:
    """Others are not named, and those that are hardly probable are counted."""
    before = state.Seen(ASKED, SHOWN, CORRECTED)
    assert state.undone(before, state.Seen(ASKED, SHOWN, None)).text == (
        "taken back: bbbbbbbb CORRECTS aaaaaaaa"
    )
    many = recall_pb2.GetHistoryResponse()
    many.CopyFrom(CORRECTED)
    for older, probability in ((WEAK, 0.1), (FAR, 0.05), ("e" * 32, 0.7)):
        many.relations.add(
            newer_id=ASKED, older_id=older, relation="UPDATES", probability=probability, counts=True
        )
    assert state.undone(state.Seen(ASKED, SHOWN, many), state.Seen(ASKED, SHOWN, CORRECTED)).text == (
        "taken back: aaaaaaaa UPDATES eeeeeeee, 2 with a probability below 0.2"
    )
    elsewhere = state.Seen(WEAK, SHOWN, CORRECTED)
    assert not state.undone(elsewhere, state.Seen(WEAK, HIDDEN, None)).is_change
    unchanged = state.undone(before, before, other=WEAK)
    assert (unchanged.text, unchanged.is_change) == ("no relation between it and cccccccc counts", False)
