"""Statements that take a change back: what they revive, contradict and undo."""

from __future__ import annotations

import pytest

from helix_consolidation.relations.words.opposites import is_opposite
from helix_consolidation.relations.words.reading import read
from helix_shared.text.failed_plans import without_failed_plans
from tests.unit.linear_time import Linear, repeated

from .test_decide import decided, said

OPPOSITES = [
    ("Tom can't come to the wedding", "Tom can come to the wedding after all"),
    ("We are not selling the house in Leeds", "We're selling the house in Leeds after all"),
    ("Emma isn't pregnant", "Emma is pregnant after all!"),
    ("The school play has been cancelled", "The school play is on again!"),
    ("Ben quit the band", "Ben is back in the band"),
    ("I stopped running because of my knee", "I'm running again, knee is fine"),
    ("the pool is closed for repairs", "pool is open again"),
    ("I no longer take metformin", "Dr Hill put me back on metformin"),
    ("We took German off the site", "German is back on the site"),
    ("We'll drop the mobile app in May", "We won't drop the mobile app after all"),
    ("We will renew the lease", "we won't renew the lease after all"),
    ("He stopped smoking", "he's smoking again"),
    ("Grandma no longer drives", "Grandma is driving again"),
    ("Wifi in the office is down", "office wifi is up again"),
]
ALIKE = [
    ("We don't ship on Sundays", "We don't ship on Sundays again"),
    ("The pool is closed", "The pool is closed again"),
    ("I run three times a week", "I'm running again, knee is fine"),
    ("The launch is on 14 April", "the launch is not slipping after all"),
    ("I drink coffee without sugar", "I drink coffee again"),
    ("We use Jira", "I can't believe we're back on Jira"),
    ("I drink my coffee black", "no more oat milk, coffee black again"),
    ("Lifts are checked on Mondays", "Petra left the firm, lifts are checked on Mondays again"),
]


@pytest.mark.parametrize(("older", "newer"), OPPOSITES)
def test_a_return_replaces_what_says_the_opposite(older: str, newer: str) -> None:
    """It is not what holds again, however many words are shared."""
    found = decided(said(newer, 7), said(older), cosine=0.85)
    assert found[0].relation == "UPDATES"
    assert "opposite" in found[0].evidence
    assert not found[0].revives


@pytest.mark.parametrize(("older", "newer"), ALIKE)
def test_what_says_the_same_is_no_opposite(older: str, newer: str) -> None:
    """Nor what is denied of something else."""
    assert not is_opposite(newer, older)


def test_with_three_steps_the_first_holds_again() -> None:
    """The one between stays replaced."""
    run, stopped = said("I run three times a week"), said("I stopped running because of my knee", 3)
    found = decided(said("I'm running again, knee is fine", 7), run, stopped, cosine=0.8)
    assert [at for at, one in found.items() if one.revives] == [0]
    assert found[1].relation == "UPDATES"


def test_a_ban_is_lifted_by_a_return() -> None:
    """Though it names a time that the return does not."""
    older = said("I'm not allowed to drive for six months")
    assert decided(said("I can drive again since yesterday", 9), older, cosine=0.76)[0].relation == "UPDATES"


def test_the_opposite_of_somebody_else_is_not_replaced_for_sure() -> None:
    """The link needs the same names."""
    for newer, older in (
        ("I drink again", "Rob stopped drinking"),
        ("he's smoking again", "She stopped smoking"),
    ):
        assert "opposite" not in decided(said(newer, 7), said(older), cosine=0.6)[0].evidence


@pytest.mark.parametrize(
    ("text", "returned", "undone"),
    [
        ("The Buildkite migration was rolled back since builds failed", "", "buildkit"),
        ("We rolled back the move to Buildkite", "", "buildkit"),
        ("rolled the API back to v2", "v2", ""),
        ("timeouts rolled back to 30 s", "30", ""),
        ("Buildkite was rolled back", "", "buildkit"),
        ("reverted to master", "master", ""),
        ("reverted the switch from Redux to Zustand", "redux", "zustand"),
        ("undid the rename to Foo", "", "foo"),
        ("I returned the MacBook, too heavy", "", "macbook"),
        ("the API returned the wrong value", "", ""),
        ("we returned to Berlin", "berlin", ""),
        ("sending the sofa back", "", "sofa"),
        ("we went back to DHL", "dhl", ""),
        ("Redis, as before", "redi", ""),
        ("dark mode was restored", "dark mod", ""),
        ("rehearsals return to the chapel from Monday", "chapel", ""),
    ],
)
def test_what_returns_and_what_was_undone(text: str, returned: str, undone: str) -> None:
    """The object of an undoing verb is what was left, the place behind "to" is what holds again."""
    found = read(text)
    assert found.back == bool(returned or undone)
    assert found.returned == frozenset(returned.split())
    assert found.undone | found.given_up == frozenset(undone.split())


@pytest.mark.parametrize(
    "text",
    [
        "Got our deposit back from the Alpine Lodge",
        "I got my keys back on Monday",
        "I'll get back to you on Monday",
        "the meeting was pushed back to Friday",
        "call me back on Monday",
        "Ben came back from Rome",
        "we fly back on 10 August",
        "my back is sore",
        "I'm back",
    ],
)
def test_other_uses_of_back_return_to_nothing(text: str) -> None:
    """Who gets, calls or comes back has not changed what holds."""
    found = read(text)
    assert not found.back
    assert not found.returned


@pytest.mark.parametrize(
    "text",
    ["We rolled back the move to Buildkite", "reverted the Buildkite migration", "undid the Buildkite move"],
)
def test_what_was_undone_is_closed_and_what_it_replaced_holds_again(text: str) -> None:
    """Nothing is revived by the words, and the first is not replaced."""
    first, moved = said("Our CI is CircleCI"), said("We moved our CI to Buildkite", 9)
    found = decided(said(text, 12), first, moved, cosine=0.7)
    assert found[1].relation == "UPDATES"
    assert found[1].closes
    assert found[1].retracts
    assert not any(one.revives for one in found.values())
    assert 0 not in found or found[0].relation != "UPDATES"


@pytest.mark.parametrize(
    ("older", "newer", "closes"),
    [
        ("Bought a MacBook, using that now", "returned the MacBook, keyboard was awful", True),
        ("The library lent me a projector", "I returned the projector", True),
        ("I ordered the grey sofa", "sending the sofa back", False),
    ],
)
def test_what_was_given_back_is_no_longer_there(older: str, newer: str, closes: bool) -> None:
    """It is closed if it is named so that nothing else can be meant."""
    found = decided(said(newer, 9), said(older), cosine=0.7)
    assert found[0].relation == "UPDATES"
    assert found[0].retracts
    assert found[0].closes == closes


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We moved our CI to Buildkite", "Should we roll back the move to Buildkite?"),
        ("We moved our CI to Buildkite", "Marta proposed to undo the move to Buildkite"),
        ("We have no Buildkite account", "rolled back the move to Buildkite"),
        ("We moved from Buildkite to CircleCI", "rolled back the Buildkite upgrade"),
        ("We added a dark mode to the app", "we sent the dark mode PR back to Lena for changes"),
        ("I take the train to Bonn", "we gave the train tickets back"),
    ],
)
def test_what_was_not_introduced_or_not_undone_stays(older: str, newer: str) -> None:
    """A question, a proposal, a denial, and the value that was left."""
    found = decided(said(newer, 9), said(older), cosine=0.7)
    assert not any(one.retracts or one.closes for one in found.values())


def test_what_somebody_got_back_replaces_nothing_else() -> None:
    """A deposit says nothing about the booking; it may replace what says that it was paid."""
    new = said("Got our deposit back from the Alpine Lodge", 9)
    found = decided(new, said("We are staying at the Alpine Lodge in May"), cosine=0.7)
    assert not any(one.relation == "UPDATES" or one.revives for one in found.values())


def test_a_quotation_can_be_replaced_and_replaces_nothing() -> None:
    """What somebody says of themself stays theirs."""
    quoted = said('Dana said "the demo is on Tuesday"', speech_act="quotation")
    found = decided(said("the demo is on Thursday, not Tuesday", 2), quoted, cosine=0.8)
    assert found[0].relation == "UPDATES"
    demo = said("the demo is on Thursday")
    quoting = said('Dana said "the demo is on Tuesday now"', 2, speech_act="quotation")
    assert decided(quoting, demo, cosine=0.8)[0].relation != "UPDATES"
    maria = said('Maria said "I love Berlin"', speech_act="quotation")
    found = decided(said("I love Hamburg now", 2), maria, cosine=0.8)
    assert not any(one.relation == "UPDATES" for one in found.values())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I was going to buy the Canon but got the Fuji", "I   got the Fuji"),
        ("Would have gone by train but there was a strike", "  there was a strike"),
        ("We were planning to hire Sam until he declined. Call Ann.", "We   he declined. Call Ann."),
        ("I would have gone if I had known, but nobody told me", None),
        ("I'm going to buy the Canon but not now", None),
        ("I was going to study law at Leiden", None),
        ("We were meant to be so happy about the flat in Porto.", None),
        ("We were going to leave early, so that nobody waits", None),
        ("I was going to take the bus instead of the tram", None),
        ("I was going to drive so Ann took the train", "I   Ann took the train"),
        ("We were meant to fly, so happy now that we drove", "We   happy now that we drove"),
        ("I was supposed to take 2.5 mg but took 5 mg", "I   took 5 mg"),
        ("I was going to the gym at 3.30, but it was closed", "I   it was closed"),
        ("Would have gone at 3.30 but it rained", "  it rained"),
    ],
)
def test_a_plan_that_came_to_nothing_is_left_out(text: str, left: str | None) -> None:
    """What follows states what happened; conditions and plans that still hold stay."""
    assert without_failed_plans(text).split() == (text if left is None else left).split()


def test_a_failed_plan_may_replace_what_was_planned() -> None:
    """No condition is in "would have gone, but"."""
    older = said("We are flying with KLM")
    newer = said("would have gone with KLM but they cancelled, so it's Ryanair", 5)
    assert "not:unreal" not in decided(newer, older, cosine=0.75)[0].evidence


def test_long_texts_take_linear_time(linear_beginnings: Linear) -> None:
    """Of each part that reads a text."""

    def judge(text: str) -> None:
        read(text)
        is_opposite(text, text)
        without_failed_plans(text)

    texts = repeated("was going to ", "rolled ", "back ", "put a ", "would have x ", "not ", "keep ")
    assert not linear_beginnings.failures(judge, texts=texts)
