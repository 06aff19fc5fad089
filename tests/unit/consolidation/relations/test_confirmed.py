"""Statements that something stays as it is: what they leave, what holds again, what gives way."""

from __future__ import annotations

import pytest

from helix_consolidation.relations.reversals.confirmed import with_confirmed
from helix_consolidation.relations.statement import Decision
from helix_consolidation.relations.words.reading import read

from .test_decide import candidate, decided, said


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Atlas deadline is 30 April", "the deadline for Atlas stays"),
        ("The rent is 950", "rent stays at 950"),
        ("The name of the release is Heron", "release name is unchanged"),
        ("Code freeze starts on 3 May", "code freeze is still 3 May"),
        ("We meet on Mondays", "we keep Mondays"),
        ("We use Postgres", "we still use Postgres"),
    ],
)
def test_what_stays_is_not_replaced(older: str, newer: str) -> None:
    """The same value, or none."""
    found = decided(said(newer, 9), said(older), cosine=0.8)
    assert not any(one.relation == "UPDATES" for one in found.values())


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The rent is 950", "the rent stays at 1,010 now"),
        ("We're staying at the Ibis in Lyon", "We're staying at the Mercure in Lyon now"),
        ("The plumber comes at 9", "the plumber still hasn't come"),
        ("I sell honey at the market", "I stopped selling honey at the market, I keep the bees"),
    ],
)
def test_another_value_or_a_denial_confirms_nothing(older: str, newer: str) -> None:
    """Though a word for staying is there."""
    found = decided(said(newer, 9), said(older), cosine=0.85)
    assert "confirms" not in found[0].evidence


@pytest.mark.parametrize(
    ("first", "between", "newer"),
    [
        ("We meet on Mondays", "Thursdays from now on", "scrap that, we keep Mondays"),
        ("Yoga is on Wednesdays", "yoga moves to Thursdays", "never mind, yoga stays on Wednesdays"),
        ("Stand-up is at 9:30", "stand-up moved to 10", "no, stand-up stays at 9:30"),
    ],
)
def test_what_was_said_since_gives_way_to_what_stays(first: str, between: str, newer: str) -> None:
    """The confirmed value holds again."""
    found = decided(said(newer, 9), said(first), said(between, 5), cosine=0.7)
    assert [at for at, one in found.items() if one.revives] == [0]
    assert found[0].relation in ("EXTENDS", "RELATES", "DUPLICATE")
    assert found[1].relation == "UPDATES"
    assert found[1].probability >= 0.6


def test_what_stays_leaves_other_things_alone() -> None:
    """The cleaner has her own days."""
    meeting, cleaner = said("We meet on Mondays"), said("the cleaner comes on Thursdays from now on", 5)
    found = decided(said("scrap that, we keep Mondays", 9), meeting, cleaner, cosine=0.6)
    assert 1 not in found or found[1].probability < 0.3


def test_what_another_speaker_said_is_not_replaced_by_what_stays_and_does_not_hold_again() -> None:
    """Ben's editor says nothing of the one that Ana has left; the deadline is the same for both."""
    vim, left = said("I use vim", speaker="ana"), said("I switched from vim to emacs", 5, speaker="ana")
    found = decided(said("I still use vim", 9, speaker="ben"), vim, left, cosine=0.8)
    assert not any(one.revives for one in found.values())
    deadline = said("Atlas deadline is 30 April", speaker="ana")
    found = decided(said("the deadline for Atlas stays", 9, speaker="ben"), deadline, cosine=0.8)
    assert found[0].relation == "EXTENDS"
    assert not found[0].revives


def test_a_value_alone_confirms_only_what_was_changed_since() -> None:
    """Any other statement may have that number."""
    new, limit, kids = said("we stick to 5", 9), said("The limit is 5"), said("We have 5 kids", 2)
    older = [candidate(one, new) for one in (limit, kids, said("the limit is 8 now", 3))]
    likely = [Decision(at, "UPDATES", 0.6) for at in range(3)]
    assert with_confirmed(new, read(new.text), older[:2], likely[:2]) == likely[:2]
    found = with_confirmed(new, read(new.text), older, likely)
    assert [one.relation for one in found] == ["EXTENDS", "UPDATES", "UPDATES"]
    assert [one.revives for one in found] == [True, False, False]
