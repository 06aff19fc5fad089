"""Statements go before bare questions and acknowledgements; an answer gains from its question."""

import numpy as np
import pytest

from helix_memory.vocabulary.speech_acts import SPEECH_ACTS
from helix_query.profile.sections.ranking import SpeechActs
from helix_query.recall.candidate_signals import CandidateSignals
from helix_query.recall.candidates import RelatedPairs, Route
from helix_query.recall.lifecycle.speech_acts import (
    act_factors,
    answer_gains,
    answer_share,
    asks_about_questions,
)
from helix_shared.artifacts.signals.columns import NO_TIME

CONSTANTS = SpeechActs(statements_first=True, bare_tokens=20)


def signals_of(acts: list[str], tokens: list[int]) -> CandidateSignals:
    """Candidates of these acts and lengths."""
    count = len(acts)
    times, zeros = np.full(count, NO_TIME), np.zeros(count)
    return CandidateSignals(
        np.zeros(count, np.uint8), times, times, times, times, zeros, zeros, zeros, zeros.astype(bool),
        zeros.astype(np.int64), zeros.astype(np.int64), zeros.astype(np.int64), np.array(tokens),
        zeros.astype(np.int64), np.array([SPEECH_ACTS.index(act) for act in acts], np.uint8),
        np.arange(1, count + 1), zeros.astype(bool), times, np.arange(1, count + 1),
    )  # fmt: skip


def related_of(questions: list[int], answers: list[int]) -> RelatedPairs:
    """Pairs of question and answer."""
    none = np.empty(0, np.int64)
    return RelatedPairs(np.array(questions), np.array(answers), none, none, np.empty(0))


def scored(
    acts: list[str],
    tokens: list[int],
    scores: list[float],
    related: RelatedPairs | None = None,
    *,
    wants_questions: bool = False,
) -> list[float]:
    """Scores after the factors."""
    values = np.array(scores)
    raw = signals_of(acts, tokens)
    return (values * act_factors(values, raw, related, CONSTANTS, wants_questions=wants_questions)).tolist()


def test_a_bare_question_is_never_above_a_statement() -> None:
    """The best question gets half of the least statement's score, the others keep their ratio to it."""
    after = scored(["question", "statement", "request", "plan"], [8, 8, 8, 8], [1.0, 0.6, 0.5, 0.2])
    assert after == pytest.approx([0.1, 0.6, 0.05, 0.2])


def test_an_answered_question_stands_behind_its_best_answer() -> None:
    """One that scores less keeps its score, and one whose answer matches nothing is below all statements."""
    acts, tokens = ["question", "statement", "statement", "question"], [8, 8, 8, 8]
    after = scored(acts, tokens, [1.0, 0.5, 0.8, 0.6], related_of([0, 0], [1, 2]))
    assert after == pytest.approx([0.7992, 0.5, 0.8, 0.25])
    assert scored(acts, tokens, [0.3, 0.5, 0.8, 0.0], related_of([0], [1])) == [0.3, 0.5, 0.8, 0.0]
    unmatched = scored(acts, tokens, [1.0, 0.0, 0.8, 0.6], related_of([0], [1]))
    assert unmatched == pytest.approx([0.4, 0.0, 0.8, 0.24])


def test_a_question_that_another_one_answers_stays_below_statements() -> None:
    """What answers it is a question too ("Which one?" "The big one?"), so neither is above a statement."""
    acts = ["question", "question", "statement"]
    after = scored(acts, [8, 8, 8], [1.0, 0.9, 0.4], related_of([0], [1]))
    assert after[2] == 0.4
    assert max(after[:2]) <= 0.2


def test_acknowledgements_fall_behind_questions() -> None:
    """Statement .4, question half of it, acknowledgement half of that."""
    after = scored(["acknowledgement", "question", "decision"], [2, 8, 8], [1.0, 0.9, 0.4])
    assert after == pytest.approx([0.1, 0.2, 0.4])


def test_a_long_question_says_something_and_keeps_its_place() -> None:
    """More than `bare_tokens` tokens."""
    assert scored(["question", "statement"], [21, 8], [1.0, 0.5]) == [1.0, 0.5]


def test_questions_among_themselves_keep_their_scores() -> None:
    """Without a statement nothing is above them; a statement of score 0 matches nothing."""
    assert scored(["question", "question"], [8, 8], [0.9, 0.3]) == [0.9, 0.3]
    assert scored(["question", "statement"], [8, 8], [0.9, 0.0]) == [0.9, 0.0]


def test_who_asks_what_was_asked_gets_questions() -> None:
    """Then questions keep their places, acknowledgements do not."""
    acts, tokens, scores = ["question", "acknowledgement", "statement"], [8, 2, 8], [1.0, 0.9, 0.4]
    assert scored(acts, tokens, scores, wants_questions=True) == pytest.approx([1.0, 0.2, 0.4])
    assert asks_about_questions("What did Ines ask about the boiler?")
    assert asks_about_questions("what did i ask you to remind me of")
    assert not asks_about_questions("Which boiler did Ines choose?")
    assert not asks_about_questions("who do i ask about billing code")
    assert not asks_about_questions("whom should we ask for the key")
    assert not asks_about_questions("how many requests per minute may one key do")
    assert not asks_about_questions("who reviews my pull requests")
    assert not asks_about_questions("x " * 100_000)


def test_an_answer_takes_the_better_score() -> None:
    """Of its question if that is better; of several questions the best one."""
    scores = np.array([0.9, 0.2, 0.5, 0.1])
    related = related_of([0, 2, 2], [1, 1, 3])
    assert (scores + answer_gains(scores, related, 1.0)).tolist() == pytest.approx([0.9, 0.9, 0.5, 0.5])
    assert answer_gains(scores, related, 0.5).tolist() == pytest.approx([0.0, 0.25, 0.0, 0.15])
    better = related_of([1], [0])
    assert answer_gains(scores, better, 1.0).tolist() == [0.0] * 4


@pytest.mark.parametrize(("named", "expected"), [(False, 0.8), (True, 1.0)])
def test_an_answer_about_a_name_takes_all_of_its_question(named: bool, expected: float) -> None:
    """Any other query is often near to a question that asks for something else."""
    assert answer_share(Route(names_something=named), SpeechActs(answer_share=0.8)) == expected
