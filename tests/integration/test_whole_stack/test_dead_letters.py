"""Dead letters of a running stack: listed, redriven exactly once after a repair, dropped."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_cli.home.record import read_record
from helix_cli.stack.stack import Stack
from helix_memory import subjects
from helix_memory.identity import memory_id
from tests.integration.test_cli.running import run, until

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def _no_letters(stack: Stack, fault: Path) -> Iterator[None]:
    """Every test begins with the defect and without letters; none leaves either."""
    drop = ("dlq", "drop", "--all", "--yes")
    run(stack.home.root, *drop)
    fault.touch()
    yield
    fault.unlink(missing_ok=True)
    run(stack.home.root, *drop)


def publish(home: Path, texts: dict[str, str], *arguments: str) -> None:
    """Publish a memory for each event id, and wait until each is processed or refused."""
    for event, text in texts.items():
        line = ("--kind", "memory", "--event-id", event, "--text", text)
        assert run(home, "publish", *line, *arguments, "--wait")[0] in {0, 1}


def letters(home: Path, *arguments: str) -> list[dict[str, Any]]:
    """What `helix dlq ls` prints."""
    code, out, err = run(home, "dlq", "ls", "--json", *arguments)
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)
    return found


def redrive(home: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and outcomes of `helix dlq redrive`."""
    code, out, err = run(home, "dlq", "redrive", "--json", *arguments)
    assert out, err
    return code, json.loads(out)


def recalled(home: Path, question: str, *arguments: str) -> list[str]:
    """Ids of the memories that a recall returns."""
    code, out, err = run(home, "recall", question, "--json", "--top-k", "50", *arguments)
    assert code == 0, err
    return [found["memory"]["memory_id"] for found in json.loads(out).get("memories", [])]


@pytest.mark.long
def test_all_letters_are_redriven_after_the_repair_and_each_event_has_one_memory(
    stack: Stack, fault: Path
) -> None:
    """Sound events are applied meanwhile; a redriven event has its memory once, with what kg adds."""
    home = stack.home.root
    poison = {f"poison-{n}": f"The mercury tank {n} stands in hall Ellerbrock-{n}." for n in range(3)}
    publish(home, {"sound-1": "The oxygen tank stands in hall 9."} | poison)
    assert memory_id("acme", "sound-1", 0) in recalled(home, "where is the oxygen tank?")
    found = letters(home)
    assert [(x["service"], x["reason"], x["attempts"]) for x in found] == [
        ("ingest", "text: this release cannot read mercury", 1)
    ] * 3
    assert len(letters(home, "--service", "kg")) == 0
    assert len(letters(home, "--tenant", "acme", "--reason", "MERCURY", "--since", "1h")) == 3
    assert len(letters(home, "--since", "2999-01-01")) == 0
    shown = json.loads(run(home, "dlq", "show", str(found[0]["sequence"]), "--json")[1])
    assert shown["body"]["text"] == poison["poison-2"]
    assert f"redrive {found[0]['sequence']}" in shown["advice"]

    code, outcomes = redrive(home, str(found[0]["sequence"]))
    assert (code, [one["state"] for one in outcomes]) == (1, ["refused"])
    again = letters(home)
    assert len(again) == 3, "a second refusal gives a new letter in the place of the old one"
    assert (again[0]["redrives"], again[0]["attempts"]) == (1, 2)

    fault.unlink()
    code, outcomes = redrive(home, "--all", "--yes", "--service", "ingest", "--tenant", "acme")
    assert (code, [one["state"] for one in outcomes]) == (0, ["processed"] * 3)
    assert letters(home) == []
    ids = [memory_id("acme", event, 0) for event in poison]
    until(lambda: set(ids) <= set(recalled(home, "where are the mercury tanks?")))
    found_ids = recalled(home, "where are the mercury tanks?")
    assert all(found_ids.count(one) == 1 for one in ids)
    until(lambda: "Ellerbrock-0" in run(home, "graph")[1])


def test_a_redrive_that_was_interrupted_is_repeated_and_applied_once(stack: Stack, fault: Path) -> None:
    """While the writer stands still the letter stays; redriving again neither loses nor doubles."""
    home = stack.home.root
    publish(home, {"halted": "The mercury pump has serial number 7731."})
    (letter,) = letters(home)
    before = json.loads(run(home, "status", "--json")[1])["query"]["memories"]
    record = read_record(stack.home)
    assert record is not None
    writer = record.pids["consolidation-1"]
    fault.unlink()
    os.kill(writer, signal.SIGSTOP)
    try:
        for _ in range(2):
            code, outcomes = redrive(home, str(letter["sequence"]), "--wait-seconds", "0.5")
            assert (code, outcomes[0]["state"]) == (3, "waiting")
        assert letters(home) == [letter]
    finally:
        os.kill(writer, signal.SIGCONT)
    code, outcomes = redrive(home, str(letter["sequence"]))
    assert (code, outcomes[0]["state"]) == (0, "processed")
    assert letters(home) == []
    until(lambda: memory_id("acme", "halted", 0) in recalled(home, "serial number of the mercury pump?"))
    assert json.loads(run(home, "status", "--json")[1])["query"]["memories"] == before + 1


def test_a_redriven_event_of_an_erased_user_stays_erased(stack: Stack, fault: Path) -> None:
    """The event keeps its place in the log, so an erasure that came after it reaches it; others come back."""
    home = stack.home.root
    publish(home, {"hers": "My mercury allergy is severe."}, "--user", "ida")
    publish(home, {"his": "My mercury lamp is green."}, "--user", "ben")
    erase = ("--kind", "erase", "--set", "of_user=ida", "--wait")
    assert run(home, "publish", *erase)[0] == 0
    fault.unlink()
    # her event and her letter leave with the erasure, before, while or after hers is redriven
    until(lambda: redrive(home, "--all", "--yes") and not letters(home))
    until(lambda: memory_id("acme", "his", 0) in recalled(home, "mercury?", "--user", "ben"))
    assert memory_id("acme", "hers", 0) not in recalled(home, "mercury?", "--user", "ida")
    assert run(home, "memory", "show", memory_id("acme", "hers", 0), "--user", "ida")[0] != 0


def test_an_undo_that_reached_nothing_acts_after_its_correction_is_redriven(
    stack: Stack, fault: Path
) -> None:
    """A lifecycle event is repeated under another id: its own counts as carried out."""
    home, target = stack.home.root, memory_id("acme", "dial", 0)
    publish(home, {"dial": "The oxygen dial shows 40 bar."})
    correct = ("--kind", "correct", "--event-id", "wrong", "--set", f"memory_id={target}")
    run(home, "publish", *correct, "--text", "The mercury dial shows 41 bar.", "--wait")
    correction = memory_id("acme", "wrong", 0)
    run(home, "publish", "--kind", "undo", "--set", f"memory_id={correction}")
    until(lambda: len(letters(home)) == 2)
    fault.unlink()
    code, outcomes = redrive(home, "--all", "--yes")
    assert (code, [one["state"] for one in outcomes]) == (0, ["processed"] * 2), outcomes

    def shown() -> tuple[bool, bool]:
        found = recalled(home, "what does the dial show?")
        return target in found, correction in found

    # the query service may still serve a generation between the two
    until(lambda: shown() == (True, False))


def test_letters_are_dropped_and_wrong_arguments_are_refused_by_name(stack: Stack) -> None:
    """--all asks first; a missing letter, both ways of naming and a bad filter are errors."""
    home = stack.home.root
    publish(home, {"gone": "The mercury drum is empty."})
    (letter,) = letters(home)
    assert run(home, "dlq", "drop", "--all")[0] != 0, "nobody confirmed"
    assert run(home, "dlq", "drop", "--all", "--yes", "--service", "kg")[0] == 1
    for arguments, said in (
        (("redrive",), "name letters, or use --all"),
        (("redrive", "1", "--all"), "name letters, or use --all"),
        (("drop", "1", "--tenant", "acme"), "go with --all"),
        (("drop", "999999"), "no dead letter 999999"),
        (("ls", "--since", "soon"), "'soon' is neither an age"),
        (("ls", "--tenant", "a.b"), "--tenant: 'a.b' must be 1 to 64 letters"),
    ):
        code, _, err = run(home, "dlq", *arguments)
        assert (code in {1, 2}, said in err) == (True, True), (arguments, err)
    assert run(home, "dlq", "drop", str(letter["sequence"]))[1] == "dropped 1\n"
    assert letters(home) == []
    assert subjects.DLQ_STREAM in run(home, "status")[1]
