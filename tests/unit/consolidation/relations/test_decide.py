"""Decisions: what replaces what, what never does, what is closed, and what a return revives."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from helix_consolidation.relations.decide import decide
from helix_consolidation.relations.features import NAMES, features
from helix_consolidation.relations.statement import Candidate, Decision, Statement
from helix_shared.naming import find_names
from tests.unit.linear_time import Linear, repeated

DAY = 86_400_000_000


def said(text: str, day: int = 0, **values: object) -> Statement:
    """A statement of the user; its vector stays unused, as cosines are given."""
    names = tuple(sorted({name.name for name in find_names(text)}))
    known = {"role": "user", "entities": names, "occurred_at": (20_000 + day) * DAY} | values
    return Statement(text, np.ones(1, dtype=np.float32), **known)  # type: ignore[arg-type] # by name


def candidate(older: Statement, new: Statement, cosine: float = 0.7) -> Candidate:
    """A candidate with a plain share of words."""
    words, others = (set(one.text.lower().split()) for one in (new, older))
    return Candidate(older, lexical=len(words & others) / len(words), cosine=cosine)


def decided(new: Statement, *older: Statement, cosine: float = 0.7) -> dict[int, Decision]:
    """Decisions by index of the older statement."""
    candidates = [candidate(one, new, cosine) for one in older]
    return {one.older: one for one in decide(new, candidates)}


def test_a_statement_without_candidates_stands_on_its_own() -> None:
    """No candidate, no decision."""
    assert decide(said("The lift is broken"), []) == []


def test_another_value_of_the_same_thing_updates_it() -> None:
    """With the feature that spoke for it as evidence."""
    new = said("From Monday choir practice starts at 18:30 instead of 19:30", 9)
    found = decided(new, said("choir practice starts at 19:30"), cosine=0.8)
    assert found[0].relation == "UPDATES"
    assert found[0].evidence["new_sure_change"] == 1


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("It listens on port 8080.", "It listens on port 9443."),
        ("The window is Tuesday at 5 pm.", "The window is Thursday at 5 pm."),
        ("The disk is encrypted.", "The disk is not encrypted."),
    ],
)
def test_a_long_text_with_one_other_value_is_no_repetition(was: str, now: str) -> None:
    """Nearly all of its wording is the same; it was taken to confirm the value that it replaces."""
    notes = (
        "Notes on the billing service: it runs on three nodes behind the balancer, reads its settings from "
        "the vault at start, writes audit lines to the collector, and Marta in payments has the keys. {}"
    )
    older, new = said(notes.format(was)), said(notes.format(now), 9)
    alike = replace(candidate(older, new, 0.98), jaccard=0.97)
    assert [one.relation for one in decide(new, [alike])] != ["DUPLICATE"]
    assert [one.relation for one in decide(older, [replace(alike, statement=older)])] == ["DUPLICATE"]


@pytest.mark.parametrize(("minutes", "replaces"), [(1, False), (90, True)])
def test_what_goes_on_from_the_turn_before_adds_to_it(minutes: int, replaces: bool) -> None:
    """With "and", right after it; after an hour it may say something else of the thing."""
    older = said("choir practice starts at 19:30 on Mondays", session=1)
    new = said(
        "and choir practice starts at 18:30", session=1, occurred_at=older.occurred_at + minutes * DAY // 1440
    )
    found = decided(new, older, cosine=0.9).get(0)
    assert (found is not None and found.relation == "UPDATES") == replaces
    changed = replace(new, text="and choir practice starts at 18:30, not 19:30")
    assert decided(changed, older, cosine=0.9)[0].relation == "UPDATES"


def test_an_explicit_replacement_by_the_same_speaker_closes_the_older() -> None:
    """A word of change, the same subject, the same speaker."""
    older = said("choir practice is on Mondays in the town hall")
    new = said("choir practice in the town hall moved to Wednesdays, no longer Mondays", 9)
    assert decided(new, older, cosine=0.9)[0].closes


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (said("Order QX-5512 ships on Monday"), said("order QX-5519 ships on Tuesday", 2)),
        (said("I love olives", speaker="Ana"), said("I hate olives", 2, speaker="Ben")),
        (said("We live in Leeds"), said("If we ever get rich we move to Madeira instead of Leeds", 2)),
        (said("We live in Leeds"), said("we're thinking about moving from Leeds to York instead", 2)),
        (said("We use GitLab"), said("we're considering Gitea instead of GitLab now", 2)),
        (said("Never deploy on a Friday afternoon"), said("we deploy on Wednesdays from now on", 2)),
        (said("We use GitLab"), said("should we switch to Gitea instead of GitLab?", 2)),
        (said("We use GitLab"), said("we switched from GitLab to Gitea", 2, speech_act="quotation")),
        (said("We use GitLab"), said("we switched from GitLab to Gitea", 2, speech_act="hypothetical")),
        (said("We use GitLab"), said("GitLab is replaced by Gitea now", 2, source_class="tool")),
        (said("Otto has two sons", title="Otto"), said("Otto now has four sons", 2, title="Otto the Second")),
    ],
)
def test_what_replaces_nothing_gives_no_update(older: Statement, newer: Statement) -> None:
    """Other identifiers, other people, questions, thoughts, quotations, dreams, tools and other documents."""
    found = decided(newer, older, cosine=0.85)
    assert all(one.relation != "UPDATES" and not one.closes for one in found.values())


def test_a_ban_stays_open_when_what_is_done_instead_changes() -> None:
    """It may be linked. The same statement without the ban is closed."""
    newer = said("we deploy on Wednesdays now, no longer Thursdays", 9)
    banning = said("We deploy on Thursdays, never on a Friday afternoon")
    assert not decided(newer, banning, cosine=0.85)[0].closes
    assert decided(newer, said("We deploy on Thursdays"), cosine=0.85)[0].closes


def test_a_thought_is_replaced_by_another_thought_and_by_a_decision() -> None:
    """What was only weighed is no longer weighed."""
    older = said("we're thinking about moving to York, no longer Leeds")
    for newer in (
        "we're thinking about moving to Bath instead of York now",
        "we moved to Bath instead of York",
    ):
        assert decided(said(newer, 2), older, cosine=0.85)[0].relation == "UPDATES"


def test_an_agent_closes_nothing_that_the_user_said() -> None:
    """Its confirmation is a link."""
    older = said("choir practice is on Mondays in the town hall")
    text = "choir practice in the town hall moved to Wednesdays, no longer Mondays"
    new = said(text, 9, role="assistant", source_class="agent")
    found = decided(new, older, cosine=0.9)
    assert found[0].relation == "UPDATES"
    assert not found[0].closes


def test_another_room_is_not_closed() -> None:
    """A number after a thing of which there are several tells which one."""
    older = said("the dressing in room 4 is changed every two days")
    found = decided(said("the dressing in room 6 is now changed every day", 4), older, cosine=0.95)
    assert not any(one.closes for one in found.values())


def test_equal_wording_is_a_duplicate() -> None:
    """The content hash decides without the model."""
    new = said("The boiler was serviced in October", 3)
    again = replace(candidate(said("The boiler was serviced in October"), new, 1.0), exact=True)
    (only,) = decide(new, [again])
    assert (only.relation, only.probability) == ("DUPLICATE", 1.0)


def test_other_values_are_never_a_duplicate() -> None:
    """However near the vectors are."""
    found = decided(said("rent is 960 a month", 3), said("rent is 900 a month"), cosine=0.97)
    assert found[0].relation == "UPDATES"


def test_a_return_revives_the_first_value_and_replaces_the_one_between() -> None:
    """A phrase of return names the value that holds again."""
    first = said("the job queue runs on Redis")
    between = said("decision: the job queue moves to Postgres, no more Redis", 20)
    new = said("reverted, the job queue is back on Redis", 40)
    found = decided(new, first, between, cosine=0.8)
    assert found[0].revives
    assert found[0].relation in {"DUPLICATE", "RELATES"}
    assert found[1].relation == "UPDATES"
    assert not found[0].closes


@pytest.mark.parametrize(
    "change",
    ["We use Zustand for the web app instead of Redux", "Zustand has the place of Redux for the web app"],
)
def test_an_unrelated_change_since_does_not_hide_the_value_that_holds_again(change: str) -> None:
    """The one between is the latest likely update, not the latest of all."""
    new = said("We went back to Redux for the web app", 21)
    unrelated = said("The stand-up about the app is at 10:00 instead of 9:30 now", 14)
    older = [said("We use Redux for the web app"), said(change, 7), unrelated]
    candidates = [candidate(one, new, cosine) for one, cosine in zip(older, (0.8, 0.8, 0.5), strict=True)]
    found = {one.older: one for one in decide(new, candidates)}
    assert found[2].relation == "UPDATES"
    assert [at for at, one in found.items() if one.revives] == [0]
    assert found[1].relation == "UPDATES"


def test_what_says_that_a_value_was_left_is_not_revived_for_it() -> None:
    """The second names Redux, as what it replaced."""
    older = (
        said("We use Redux for the web app"),
        said("We use Zustand for the web app instead of Redux", 7),
        said("We use MobX for the web app now", 14),
    )
    found = decided(said("We went back to Redux for the web app", 21), *older, cosine=0.8)
    assert [at for at, one in found.items() if one.revives] == [0]


def test_what_has_another_identifier_is_not_revived() -> None:
    """A second booking leaves the correction of the first one in force."""
    booked = said("Booked the ferry to Hull for 12 September, booking reference QX7-4418")
    corrected = said("Sorry, the reference is QX7-4481, not QX7-4418", 1)
    again = "Ferry to Hull again: 20 December"
    assert decided(said(again, 40), booked, corrected, cosine=0.6)[0].revives
    found = decided(said(f"{again}, reference ZR2-9073", 40), booked, corrected, cosine=0.6)
    assert not any(one.revives for one in found.values())


def test_the_order_of_candidates_changes_nothing() -> None:
    """Decisions go by what is compared."""
    new = said("the dentist moved me to 10 May", 9)
    older = [
        said("My dentist appointment is on 3 May"),
        said("Lena handles invoices", 2),
        said("We keep bees", 3),
    ]
    ahead = [candidate(one, new, cosine) for one, cosine in zip(older, (0.7, 0.2, 0.1), strict=True)]
    forth, back = decide(new, ahead), decide(new, ahead[::-1])

    def by_text(found: Sequence[Decision], candidates: Sequence[Candidate]) -> dict[str, tuple[str, float]]:
        return {candidates[one.older].statement.text: (one.relation, one.probability) for one in found}

    assert by_text(forth, ahead) == by_text(back, ahead[::-1])


def test_features_have_a_name_each_and_are_finite() -> None:
    """Also for empty texts."""
    new = said("")
    rows = features(new, [candidate(said("", day), said("x")) for day in range(3)])
    assert rows.shape == (3, len(NAMES))
    assert np.isfinite(rows).all()


def test_long_texts_take_linear_time(linear_beginnings: Linear) -> None:
    """The new one, and each of its candidates."""

    def read(text: str) -> None:
        older = [replace(said("x", day), text=f"{day} {text}", context=text) for day in range(18)]
        decide(replace(said("x"), text=text, context=text), [Candidate(one, cosine=0.5) for one in older])

    texts = repeated("now instead ", "a", '"', "said ", "1.2.3,")
    assert not linear_beginnings.failures(read, texts=texts)
