"""Relations through all processes: what was said again or replaced, its history, undo, and a second run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import NotFoundError
from helix_shared.identity import memory_id

from .conftest import UNUSED

pytestmark = pytest.mark.integration

PATIENCE_SECONDS: Final = 60
BEGINNING: Final = datetime(2026, 1, 10, 18, tzinfo=UTC)
SAID: Final = (
    "We are going to Japan next April.",
    "In Japan we want to eat well, see old temples and ride the trains.",
    "Our cat Momo is four years old.",
    "Change of plan: we are going to Japan in May instead.",
    "Our cat Momo is four years old.",
)
APRIL, MOMO, MAY, AGAIN = (memory_id("acme", f"trip-{number}", 0) for number in (0, 2, 3, 4))


class Trip:
    """A running stack in which Ann has spoken about a trip, once a week."""

    def __init__(self, stack: Stack, client: RecallClient) -> None:
        self.client = client
        self._runner = CliRunner(env={"HELIX_HOME": str(stack.home.root), "HELIX_TENANT": "acme"})
        for number, text in enumerate(SAID):
            moment = (BEGINNING + timedelta(days=7 * number)).isoformat()
            fields = {"event_id": f"trip-{number}", "speaker": "Ann", "occurred_at": moment}
            given = [option for name, value in fields.items() for option in ("--set", f"{name}={value}")]
            session = f"week-{number}"
            self.run("publish", "--session", session, "--user", "ann", "--text", text, "--wait", *given)

    def run(self, *arguments: str) -> str:
        """Standard output of a command that succeeds."""
        result = self._runner.invoke(app, list(arguments))
        assert result.exit_code == 0, result.output
        return result.stdout

    def history(self, memory: str, *, user: str = "ann") -> Any:
        """The history of a memory as the command prints it for programs."""
        return json.loads(self.run("memory", "history", memory, "--user", user, "--json"))

    def relations(self, memory: str) -> set[tuple[str, str, str, bool]]:
        """Newer, kind, older, and whether the older one was closed."""
        found = self.history(memory).get("relations", [])
        return {
            (one["newer_id"], one["relation"], one["older_id"], one.get("closed", False))
            for one in found
            if one.get("counts")
        }

    def texts(self, query: str, *, user: str = "ann", **moments: datetime) -> list[str]:
        """Texts that a recall returns."""
        scope = recall_pb2.Scope(tenant_id="acme", user_id=user)
        request = recall_pb2.RecallRequest(scope=scope, query=query, never_skip=True, top_k=10)
        for name, moment in moments.items():
            getattr(request, name).FromDatetime(moment)
        return [found.memory.text for found in self.client.recall(request).memories]


@pytest.fixture(scope="module")
def trip(stack: Stack) -> Iterator[Trip]:
    """What Ann said, in the stack of this folder."""
    with RecallClient(stack.query_address) as client:
        yield Trip(stack, client)


def test_the_trip_is_in_may_and_april_is_its_history(trip: Trip) -> None:
    """The old plan is closed, and reachable at the time when it was known, and when it held."""
    question = "When do we go to Japan?"
    assert trip.texts(question)[0] == SAID[3]
    assert SAID[0] not in trip.texts(question)
    assert SAID[1] in trip.texts("What do we want to see and eat in Japan?")
    assert (MAY, "UPDATES", APRIL, True) in trip.relations(MAY)
    memories = {one["memory_id"]: one for one in trip.history(MAY)["memories"]}
    assert memories[APRIL]["superseded_by"] == MAY
    assert memories[APRIL]["valid_to"] == memories[MAY]["occurred_at"]
    created = {m: datetime.fromisoformat(memories[m]["created_at"]) for m in (APRIL, MAY)}
    known = created[APRIL] + (created[MAY] - created[APRIL]) / 2
    then = BEGINNING + timedelta(days=10)
    for moments in ({"as_of": known}, {"valid_at": then}):
        found = trip.texts(question, **moments)
        assert SAID[0] in found
        assert SAID[3] not in found


@pytest.mark.long
def test_a_second_run_of_the_same_log_makes_the_same_relations(
    trip: Trip, tmp_path: Path, models_dir: Path
) -> None:
    """In a fresh folder, published at another pace."""
    with Stack(tmp_path, nats_port=0, query_port=0, copies=UNUSED, models=models_dir) as other:
        other.wait_ready()
        with RecallClient(other.query_address) as client:
            again = Trip(other, client)
            for memory in (MAY, MOMO):
                expected, found = (one.history(memory)["relations"] for one in (trip, again))
                assert found == expected


def test_a_repetition_is_in_the_history_of_both(trip: Trip) -> None:
    """And raises the confidence of the first; nobody else sees either."""
    repetition = (AGAIN, "DUPLICATE", MOMO, False)
    assert repetition in trip.relations(MOMO) & trip.relations(AGAIN)
    memories = {one["memory_id"]: one for one in trip.history(MOMO)["memories"]}
    assert list(memories).index(MOMO) < list(memories).index(AGAIN)
    assert memories[MOMO]["confidence"] > memories[AGAIN]["confidence"]
    scope = recall_pb2.Scope(tenant_id="acme", user_id="bob")
    with pytest.raises(NotFoundError):
        trip.client.history(recall_pb2.GetHistoryRequest(scope=scope, memory_id=MOMO))


def test_undo_takes_a_relation_back_for_good(trip: Trip) -> None:
    """By the command; the history still tells what was decided, and that it does not count."""
    assert trip.relations(AGAIN)
    trip.run("memory", "undo", AGAIN, "--user", "ann", "--wait")
    # that the words are nearly the same is no decision, and stays
    assert {one for one in trip.relations(AGAIN) if AGAIN in one} == {(AGAIN, "RELATES", MOMO, False)}
    undone = [one for one in trip.history(MOMO)["relations"] if one["relation"] == "DUPLICATE"]
    assert [one.get("counts", False) for one in undone] == [False]
    memories = {one["memory_id"]: one for one in trip.history(MOMO)["memories"]}
    assert memories[MOMO]["confidence"] == memories[AGAIN]["confidence"]
    assert "ignored" in trip.run("memory", "history", MOMO, "--user", "ann")


def test_a_joke_that_the_next_turn_takes_back_replaces_nothing(trip: Trip) -> None:
    """What it had closed holds again; forgetting the second turn makes it count."""
    june, kidding = (memory_id("acme", name, 0) for name in ("june", "kidding"))
    turns = {"june": "Change of plan: we are going to Japan in June instead.", "kidding": "Just kidding."}
    closing = (june, "UPDATES", MAY, True)
    for name, text in turns.items():
        said = ("--session", "june", "--user", "ann", "--set", "speaker=Ann", "--set", f"event_id={name}")
        trip.run("publish", *said, "--text", text, "--wait")
        assert (closing in trip.relations(june)) == (name == "june")
    assert (kidding, "RELATES", june, True) in trip.relations(kidding)
    trip.run("memory", "forget", kidding, "--user", "ann")
    assert closing in trip.relations(june)


def test_what_was_rolled_back_is_closed_and_what_it_had_replaced_holds_again(trip: Trip) -> None:
    """Until the return is forgotten; nothing revives what was rolled back."""
    told = {
        "github": "We moved our CI from CircleCI to GitHub Actions",
        "buildkite": "We moved our CI to Buildkite instead of GitHub Actions",
        "rollback": "We rolled back the move to Buildkite",
    }
    github, buildkite, rollback = (memory_id("acme", name, 0) for name in told)
    for number, (name, text) in enumerate(told.items()):
        moment = (BEGINNING + timedelta(days=60 + 7 * number)).isoformat()
        said = ("--session", name, "--user", "ann", "--set", "speaker=Ann", "--set", f"event_id={name}")
        trip.run("publish", *said, "--set", f"occurred_at={moment}", "--text", text, "--wait")
        replaces = any(one[:3] == (buildkite, "UPDATES", github) for one in trip.relations(github))
        assert replaces == (name == "buildkite")
    assert (rollback, "UPDATES", buildkite, True) in trip.relations(rollback)
    found = trip.texts("what CI do we use?")
    assert told["github"] in found
    assert told["buildkite"] not in found
    trip.run("memory", "forget", rollback, "--user", "ann", "--wait")
    assert any(one[:3] == (buildkite, "UPDATES", github) for one in trip.relations(github))


def test_a_correction_right_after_a_slip_goes_first_until_it_is_undone(trip: Trip) -> None:
    """It does not say what the value is of; the older statement stays, behind it."""
    wrong, right = "The party is at Wolvenstraat 18", "No wait, it's Wolvenstraat 81"
    for name, text in {"slip": wrong, "mended": right}.items():
        said = ("--session", "party", "--user", "ann", "--set", f"event_id={name}")
        trip.run("publish", *said, "--text", text, "--wait")
    slip, mended = (memory_id("acme", name, 0) for name in ("slip", "mended"))
    assert (mended, "UPDATES", slip, False) in trip.relations(mended)
    found = trip.texts("what is the address of the party?")
    assert found.index(right) < found.index(wrong)
    trip.run("memory", "undo", mended, "--user", "ann", "--wait")
    assert (mended, "UPDATES", slip, False) not in trip.relations(mended)
    found = trip.texts("what is the address of the party?")
    assert found.index(wrong) < found.index(right)


def test_what_is_said_of_others_is_no_answer_about_the_asker(trip: Trip) -> None:
    """Though it was said later, in words of the question."""
    said = {
        "Hi, I'm Kofi, I live in Ghent and work as a bike mechanic": "where do I live?",
        "I'm 41 since March, feels old": "how old am I?",
        "my phone number is 0470 11 22 33": "what's my phone number?",
        "my brother lives with his boss": "",
        "My wife Ama turned 38": "",
        "my mum's new number is 0470 99 88 77": "what is my mum's number?",
    }
    for number, text in enumerate(said):
        fields = {
            "event_id": f"kofi-{number}",
            "occurred_at": (BEGINNING + timedelta(days=number)).isoformat(),
        }
        given = [option for name, value in fields.items() for option in ("--set", f"{name}={value}")]
        trip.run("publish", "--session", f"kofi-{number}", "--user", "kofi", "--text", text, "--wait", *given)
    for text, question in said.items():
        if question:
            assert trip.texts(question, user="kofi")[0] == text
