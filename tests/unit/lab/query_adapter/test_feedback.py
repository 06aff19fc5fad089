"""The questions of feedback events, and what a fit to them must show."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from helix_lab.measures.intervals import Difference
from helix_lab.query_adapter.feedback import AskedQuestion, Erased, questions_of
from helix_lab.query_adapter.from_feedback import FEWEST_QUESTIONS, Learned, refuse_harm, require_enough
from helix_lab.query_adapter.held_out import SHOWN, Comparison
from helix_memory.events import EraseEvent, FeedbackEvent
from helix_shared.artifacts.learned_adapters import LearnedCard
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.token_codes import CODE_BITS
from helix_shared.errors import InvalidInputError

A, B, C = ("a" * 32, "b" * 32, "c" * 32)


def said(number: int, query: str, **fields: object) -> tuple[int, FeedbackEvent]:
    """A feedback event at a sequence of the log."""
    given = {"event_id": f"f{number}", "tenant_id": "acme", "helpful": [A], "query": query} | fields
    return number, FeedbackEvent.model_validate(given)


def test_opinions_on_one_question_of_one_caller_are_taken_together() -> None:
    """Case and spaces do not count, and of two opinions on a memory the later holds."""
    [one] = questions_of(
        [
            said(3, "Where is  the blue thing?", helpful=[A, B], unhelpful=[C], session_id="s1"),
            said(9, "where is the BLUE thing? ", helpful=[C], unhelpful=[A], session_id="s2"),
        ],
        [],
    )
    assert one.text == "Where is the blue thing?"
    assert (one.helpful, one.unhelpful) == (frozenset({B, C}), frozenset({A}))
    assert (one.first, one.last, dict(one.sessions)) == (3, 9, {"s1": 3, "s2": 9})


def test_callers_are_kept_apart() -> None:
    """What a user or a principal may recall is asked for each."""
    asked = [
        said(1, "where?"),
        said(2, "where?", user_id="ana"),
        said(3, "where?", user_id="ana", acl=["ops"]),
    ]
    found = questions_of(asked, [])
    assert [(one.user_id, one.principals) for one in found] == [("", ()), ("ana", ()), ("ana", ("ops",))]


def test_what_teaches_nothing_is_left_out() -> None:
    """Feedback without a question, and questions without a memory that helped."""
    assert not questions_of([said(1, ""), said(2, "  "), said(3, "who?", helpful=[], unhelpful=[A])], [])
    taken_back = [said(1, "who?"), said(2, "who?", helpful=[], unhelpful=[A])]
    assert not questions_of(taken_back, [])


def test_questions_of_an_erased_user_or_session_are_left_out() -> None:
    """Those that came after the erasure stay."""
    feedback = [
        said(1, "one?", user_id="ana"),
        said(2, "two?", session_id="s1"),
        said(3, "three?", user_id="bob", session_id="s2"),
        said(8, "eight?", user_id="ana"),
    ]
    erasures = [
        (5, EraseEvent(event_id="e5", tenant_id="acme", of_user="ana")),
        (6, EraseEvent(event_id="e6", tenant_id="acme", of_session="s1")),
        (7, EraseEvent(event_id="e7", tenant_id="acme", memory_ids=[A])),
    ]
    assert [one.text for one in questions_of(feedback, erasures)] == ["three?", "eight?"]


@pytest.mark.parametrize(
    ("selector", "sequence", "is_erased"),
    [
        ({"of_user": "ana"}, 5, True),
        ({"of_user": "ana"}, 2, False),
        ({"of_user": "bob"}, 5, False),
        ({"of_session": "s1"}, 6, True),
        ({"of_session": "s1"}, 3, False),
        ({"of_session": "ana"}, 6, False),
    ],
)
def test_who_asks_again_after_an_erasure_was_still_erased(
    selector: dict[str, str], sequence: int, *, is_erased: bool
) -> None:
    """The first question of each user and session is compared, whoever asks now."""
    erasure = EraseEvent.model_validate({"event_id": "e", "tenant_id": "acme", **selector})
    card = LearnedCard(
        tenant_id="acme",
        number=1,
        encoder="a" * 64,
        adapter="0" * 64,
        memories="0" * 64,
        fitted_at=datetime(2026, 3, 4, tzinfo=UTC),
        generation=7,
        questions=80,
        held_out={},
        askers={"ana": 3},
        sessions={"s1": 4},
    )
    states = np.zeros((CODE_BITS, CODE_BITS), np.float32)
    adapter = QueryAdapter(
        "a" * 64, np.eye(8, dtype=np.float32), states, np.eye(8, CODE_BITS, dtype=np.float32)
    )
    learned = Learned(adapter, card, frozenset())
    assert learned.is_asked_by_erased(Erased.by([(sequence, erasure)])) == is_erased


def changed(by: float, low: float, high: float) -> Comparison:
    """Recalls whose metrics all change alike."""
    change = Difference(by, low, high, 0.5)
    return Comparison(
        80, dict.fromkeys(SHOWN, 0.5), dict.fromkeys(SHOWN, 0.5 + by), dict.fromkeys(SHOWN, change)
    )


def test_a_fit_whose_interval_does_not_exclude_harm_is_refused() -> None:
    """Also one that helps on average; and one that makes other questions worse."""
    refuse_harm(changed(0.1, 0.02, 0.2), None)
    refuse_harm(changed(0.1, 0.02, 0.2), changed(-0.01, -0.05, 0.03))
    with pytest.raises(
        InvalidInputError, match=r"not shown to help: MRR@10 .* \+5.0 points, .* -0.4 to \+9.0"
    ):
        refuse_harm(changed(0.05, -0.004, 0.09), None)
    with pytest.raises(InvalidInputError, match=r"harm elsewhere: R@10 .* by -3.0 points"):
        refuse_harm(changed(0.1, 0.02, 0.2), changed(-0.03, -0.08, 0.02))


def test_one_question_of_many_callers_is_one_question() -> None:
    """Else no part of the questions is left to judge by: equal texts are in one part."""
    many = [AskedQuestion.of(f"Where is shelf {n}?", A) for n in range(FEWEST_QUESTIONS)]
    require_enough("acme", many, in_the_log=FEWEST_QUESTIONS)
    with pytest.raises(InvalidInputError, match=r"acme has 1 questions .* a fit needs 60 different"):
        require_enough(
            "acme", [AskedQuestion.of("Where is it?", A)] * FEWEST_QUESTIONS, in_the_log=FEWEST_QUESTIONS
        )
