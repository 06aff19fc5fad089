"""A replaced memory gives way to its replacement, by the link and by how well that one answers."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from helix_query.profile.intent import Intent
from helix_query.profile.past_question import PastQuestion
from helix_query.profile.sections.ranking import Outdated
from helix_query.recall.candidate_signals import CandidateSignals
from helix_query.recall.candidates import RelatedPairs, Route, Window
from helix_query.recall.lifecycle.outdated import inherited_gains, outdated_factors, replacements_that_count
from helix_query.recall.routing.current_value import asks_whether
from helix_shared.artifacts.signals.columns import NO_TIME

CONSTANTS = Outdated(enabled=True, inherited=1.0, lost_share=1.0, past_tense=0.75, share_otherwise=0.5)
NONE = np.empty(0, np.int64)


def links(*pairs: tuple[int, int, float]) -> RelatedPairs:
    """Links newer, older, probability."""
    newer, older, probability = zip(*pairs, strict=True)
    return RelatedPairs(NONE, NONE, np.array(newer), np.array(older), np.array(probability))


def told(*moments: int, planned: int = NO_TIME) -> CandidateSignals:
    """Candidates that occurred at these moments (microseconds); the first speaks of the moment `planned`."""
    starts = [planned] + [NO_TIME] * (len(moments) - 1)
    found = SimpleNamespace(occurred_at=np.array(moments), event_start=np.array(starts, np.int64))
    return cast("CandidateSignals", found)


def ranked(scores: list[float], related: RelatedPairs) -> list[float]:
    """Scores after both steps."""
    values = np.array(scores)
    values = values + inherited_gains(values, related, CONSTANTS)
    return (values * outdated_factors(values, related, CONSTANTS)).tolist()


def test_a_sure_replacement_takes_the_place() -> None:
    """It shares no word with the question: .9 of .8 is .72; the old one keeps 1 - .9 x .9 of .8."""
    assert ranked([0.8, 0.0], links((1, 0, 0.9))) == pytest.approx([0.8 * (1 - 0.9 * 0.9), 0.72])


def test_an_unsure_link_costs_little() -> None:
    """At .2 the old one stays first."""
    assert ranked([0.8, 0.1], links((1, 0, 0.2))) == pytest.approx([0.8 * (1 - 0.2 * 0.2), 0.16])


def test_a_better_replacement_takes_no_more_than_the_link_gives() -> None:
    """The ratio of the scores counts up to 1."""
    assert ranked([0.4, 0.9], links((1, 0, 0.5))) == pytest.approx([0.2, 0.9])


def test_a_replaced_memory_stands_behind_its_replacement_and_not_behind_others() -> None:
    """Three weak links to one memory that answers the question by far best, and one that answers nothing."""
    scores, weak = np.array([1.0, 0.3, 0.3, 0.3, 0.2]), links((1, 0, 0.9), (2, 0, 0.9), (3, 0, 0.9))
    kept = CONSTANTS.model_copy(update={"kept_share": 0.7})
    scores = scores + inherited_gains(scores, weak, kept)
    assert scores[0] * outdated_factors(scores, weak, CONSTANTS)[0] < scores[4]
    found = scores * outdated_factors(scores, weak, kept)
    assert found[0] == pytest.approx(0.7 * found[1])
    assert found[1] > found[0] > found[4]


def test_the_last_of_a_chain_holds() -> None:
    """C replaces B, B replaces A: C is first whichever of them the question resembles."""
    chain = links((1, 0, 0.9), (2, 1, 0.9))
    for scores in ([0.9, 0.0, 0.0], [0.2, 0.9, 0.1], [0.5, 0.5, 0.5]):
        assert int(np.argmax(ranked(scores, chain))) == 2


def test_a_chain_passes_on_what_all_of_its_links_give() -> None:
    """Two unsure links in a row give a quarter, where one gives half: 2 x .25 x .25 of the score."""
    scores = np.array([0.8, 0.0, 0.0])
    gains = inherited_gains(
        scores, links((1, 0, 0.25), (2, 1, 0.25)), CONSTANTS.model_copy(update={"inherited": 2.0})
    )
    assert gains == pytest.approx([0.0, 0.4, 0.1])


def test_many_links_cost_little() -> None:
    """Each round costs as much as there are links, not as there are chains: 400 memories, all linked."""
    newer, older = (one.ravel() for one in np.indices((400, 400)))
    apart = newer != older
    dense = RelatedPairs(NONE, NONE, newer[apart], older[apart], np.full(apart.sum(), 0.3))
    gains = inherited_gains(np.linspace(0.1, 1.0, 400), dense, CONSTANTS)
    assert np.all(gains >= 0)
    assert np.max(np.linspace(0.1, 1.0, 400) + gains) <= 1.0


def test_a_circle_ends() -> None:
    """Two memories that each claim to replace the other keep finite scores."""
    found = ranked([0.6, 0.5], links((1, 0, 0.5), (0, 1, 0.5)))
    assert all(0 <= score <= 0.6 for score in found)


@pytest.mark.parametrize(
    ("past", "expected"), [(PastQuestion.NO, 0.8), (PastQuestion.TENSE, 0.2), (PastQuestion.EARLIER, 0.0)]
)
def test_questions_about_the_past_take_the_links_back(past: PastQuestion, expected: float) -> None:
    """The past tense takes three quarters, a word of earlier times all."""
    route = Route(intents=(Intent.CURRENT_VALUE,), past_question=past)
    found = replacements_that_count(links((1, 0, 0.8)), told(5, 9), route, CONSTANTS)
    assert found.probability.tolist() == pytest.approx([expected])


@pytest.mark.parametrize(
    ("planned", "intent", "expected"),
    [
        (20, Intent.WHEN, 0.8),
        (20, Intent.CURRENT_VALUE, 0.8),
        (20, Intent.WHO, 0.1),
        (9, Intent.WHEN, 0.1),
        (7, Intent.WHEN, 0.1),
        (NO_TIME, Intent.WHEN, 0.1),
    ],
)
def test_a_plan_that_changed_before_its_time_never_held(
    planned: int, intent: Intent, expected: float
) -> None:
    """The new date answers when the trip was; what was done before it changed was so."""
    route = Route(intents=(intent,), past_question=PastQuestion.TENSE)
    found = replacements_that_count(links((1, 0, 0.8)), told(5, 9, planned=planned), route, CONSTANTS)
    assert found.probability.tolist() == pytest.approx([expected])


def test_other_questions_count_a_part_of_the_links() -> None:
    """One that does not ask for a value that changes: half."""
    found = replacements_that_count(links((1, 0, 0.8)), told(5, 9), Route(), CONSTANTS)
    assert found.probability.tolist() == pytest.approx([0.4])


def test_a_question_whether_something_holds_counts_all_of_the_links() -> None:
    """What denies it since is the answer."""
    found = replacements_that_count(links((1, 0, 0.8)), told(5, 9), Route(asks_whether=True), CONSTANTS)
    assert found.probability.tolist() == pytest.approx([0.8])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("do we have a car?", True),
        ("So, is Emma pregnant", True),
        ("can I drive?", True),
        ("did we have a car?", False),
        ("what do we have?", False),
        ("who is my manager?", False),
        ("we have a car", False),
        ("will tom come?", True),
        ("Will Emma come?", True),
        ("Does Evans Bay Intermediate have a band", True),
        ("may the children swim?", True),
        ("don't we have a key?", True),
        ("May 3rd meeting notes", False),
        ("May the 4th meeting", False),
        ("May's address", False),
        ("Will Smith birthday", False),
        ("Can openers we own", False),
        ("can't log in to the vpn", False),
        ("Do remind me what we chose", False),
        ("Do not show empty lines", False),
        ("do the dishes", False),
        ("has been to Lyon", False),
        ("Can you remind me what we chose?", False),
    ],
)
def test_a_question_for_yes_or_no_begins_with_its_verb(query: str, expected: bool) -> None:
    """In the present tense, and a subject follows it."""
    assert asks_whether(query.lower()) == expected


def test_plans_for_a_time_to_come_change() -> None:
    """A question about next December counts every link, and one about a past December does not."""
    month = Window(datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    to_come = replacements_that_count(links((1, 0, 0.8)), told(5, 9), Route(window=month), CONSTANTS)
    assert to_come.probability.tolist() == pytest.approx([0.8])
    past = Route(window=month, as_of_moment=month.end)
    found = replacements_that_count(links((1, 0, 0.8)), told(5, 9), past, CONSTANTS)
    assert found.probability.tolist() == pytest.approx([0.4])


def test_a_replacement_after_the_time_asked_about_does_not_count() -> None:
    """What came in microsecond 9 replaces nothing for a question about microsecond 7."""
    now = Route(intents=(Intent.CURRENT_VALUE,))
    route = replace(now, as_of_moment=datetime.fromtimestamp(0, UTC).replace(microsecond=7))
    found = replacements_that_count(links((1, 0, 0.8), (2, 0, 0.6)), told(5, 9, 6), route, CONSTANTS)
    assert found.probability.tolist() == [0.0, 0.6]
