"""Abstention: confidence and packed contexts of unanswerable questions."""

from dataclasses import replace

import pytest

from helix_lab.measures.abstention import Abstention, abstention
from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_shared.errors import InvalidInputError


def asked(*answers: Answer) -> tuple[Run, EvaluationSet]:
    """A run and its set: questions named k... are answerable, the others are not."""
    names = [answer.question_id for answer in answers]
    relevant = {name: {"d": 1.0} for name in names if name.startswith("k")}
    questions = [Question(name, "text", "", "", "") for name in names]
    data = EvaluationSet("small", [Document("d", "text", "", "", "", "", "")], questions, relevant)
    return Run("small", "engine", answers), data


def answered(name: str, confidence: float) -> Answer:
    """An answer with a packed context."""
    return Answer(name, ("d",), 1.0, packed=("d",), packed_tokens=5, confidence=confidence)


def silent(name: str, confidence: float = 0.0, *, skipped: bool = False) -> Answer:
    """An answer whose packed context is empty."""
    return Answer(name, ("d",), 1.0, skipped=skipped, confidence=confidence)


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    """0.9 beats 0.5 and 0.4, 0.4 loses to 0.5 and ties with 0.4: 2.5 of 4 pairs."""
    run, data = asked(answered("k1", 0.9), answered("k2", 0.4), answered("u1", 0.5), answered("u2", 0.4))
    assert abstention(run, data) == Abstention(2, 0.625, 1.0, 0.0)


@pytest.mark.parametrize(("known", "unknown", "auroc"), [(0.8, 0.2, 1.0), (0.2, 0.8, 0.0), (0.5, 0.5, 0.5)])
def test_auroc_runs_from_always_wrong_to_always_right(known: float, unknown: float, auroc: float) -> None:
    """One half is a guess."""
    found = abstention(*asked(answered("k1", known), answered("k2", known), answered("u1", unknown)))
    assert found is not None
    assert found.auroc == auroc


def test_rates_count_packed_contexts() -> None:
    """One of three unanswerable questions was answered, one of two answerable ones was not."""
    run, data = asked(
        answered("k1", 0.9), silent("k2"), answered("u1", 0.1), silent("u2"), silent("u3", skipped=True)
    )
    found = abstention(run, data)
    assert found is not None
    assert found.questions == 3
    assert (found.false_answer_rate, found.false_abstention_rate) == pytest.approx((1 / 3, 0.5))


def test_a_skipped_question_abstains_even_with_a_context() -> None:
    """The router said that no memory is needed."""
    run, data = asked(answered("k1", 0.9), replace(answered("u1", 0.1), skipped=True))
    assert abstention(run, data) == Abstention(1, 1.0, 0.0, 0.0)


def test_abstaining_is_less_confident_than_any_answer() -> None:
    """The scores do not matter: k1 answers with -3, u1 is silent with 7."""
    run, data = asked(answered("k1", -3.0), silent("u1", 7.0))
    assert abstention(run, data) == Abstention(1, 1.0, 0.0, 0.0)


def test_an_engine_that_is_silent_always_guesses() -> None:
    """It found nothing for any question: every pair is a tie."""
    run, data = asked(*(Answer(name, (), 1.0) for name in ("k1", "k2", "u1", "u2", "u3")))
    assert abstention(run, data) == Abstention(3, 0.5, 0.0, 1.0)


def test_an_engine_that_packs_no_context_is_not_measured() -> None:
    """It ranks and leaves answering to others: calling that silence would be untrue."""
    assert abstention(*asked(silent("k1", 0.9), silent("u1", 0.1))) is None


def test_a_set_with_one_kind_of_question_has_no_figures() -> None:
    """Without both kinds there is nothing to separate."""
    assert abstention(*asked(answered("k1", 0.9))) is None
    assert abstention(*asked(answered("u1", 0.9))) is None


def test_unanswerable_questions_have_to_be_asked() -> None:
    """Leaving them out is not abstaining."""
    run, data = asked(answered("k1", 0.9), answered("u1", 0.1))
    with pytest.raises(InvalidInputError, match="1 of 2 questions have no answer, 'u1' first"):
        abstention(replace(run, answers=run.answers[:1]), data)
