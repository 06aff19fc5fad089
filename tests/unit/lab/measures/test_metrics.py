"""Every metric is checked against rankings worked out by hand, and against its formula written out."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from helix_lab.measures.metrics import METRICS, STALE_METRICS, Scores, mean, score, score_sessions
from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_shared.errors import InvalidInputError

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def small_set(relevant: dict[str, dict[str, float]], **more: dict[str, set[str]]) -> EvaluationSet:
    """Twenty-six documents a to z, and the questions that have judgements, plus q0 that has none."""
    documents = [Document(letter, "text", "", "", "", "", "") for letter in LETTERS]
    questions = [Question(name, "text", "", "", "") for name in ("q0", *relevant)]
    return EvaluationSet("small", documents, questions, relevant, **more)


def run_of(rankings: Mapping[str, Sequence[str]]) -> Run:
    """A run that ranks as given and finds nothing for q0."""
    named = {"q0": "", **rankings}
    return Run("small", "engine", tuple(Answer(name, tuple(ranked), 1.0) for name, ranked in named.items()))


def scored(
    ranking: Sequence[str], relevant: dict[str, float], stale: set[str] | None = None
) -> dict[str, float]:
    """Metrics of one ranking."""
    data = small_set({"q": relevant}, stale={"q": stale} if stale else {})
    return score(run_of({"q": ranking}), data)["q"]


def test_metrics_of_one_ranking_worked_by_hand() -> None:
    """Two relevant of gain 1 at ranks 2 and 6: DCG is 1/log2(3) + 1/log2(7), at best 1 + 1/log2(3)."""
    assert scored("xaywzbuvst", {"a": 1.0, "b": 1.0}) == {
        "R@1": 0.0,
        "R@5": 0.5,
        "R@10": 1.0,
        "Hit@1": 0.0,
        "Hit@5": 1.0,
        "Hit@10": 1.0,
        "All@5": 0.0,
        "All@10": 1.0,
        "MRR@10": 0.5,
        "nDCG@10": pytest.approx((0.630930 + 0.356207) / 1.630930, abs=1e-6),
    }


def test_ndcg_takes_the_gain_itself_not_its_power_of_two() -> None:
    """Gains 1, 0, 3 found of 3, 2, 1: (1 + 3/2) / (3 + 2/log2(3) + 1/2); powers of two would give 0.479."""
    assert scored("axb", {"a": 1.0, "b": 3.0, "c": 2.0})["nDCG@10"] == pytest.approx(2.5 / 4.761860, abs=1e-6)


def test_gains_that_are_no_whole_numbers_count_as_they_are() -> None:
    """A gain of 0.5 against 1 is 1 against 2: scaling all gains does not change nDCG."""
    halves, wholes = ({"a": low, "b": 2 * low} for low in (0.5, 1.0))
    assert scored("xab", halves) == scored("xab", wholes)
    assert scored("ab", halves)["nDCG@10"] == pytest.approx((1 + 2 / 1.584963) / (2 + 1 / 1.584963), abs=1e-6)


def test_a_very_small_gain_is_still_relevant() -> None:
    """Relevant is what has a gain above 0, however unequal the gains are."""
    found = scored("a", {"a": 1e-9, "b": 1e9})
    assert (found["Hit@1"], found["R@1"]) == (1.0, 0.5)


def test_the_ideal_order_ends_at_rank_ten() -> None:
    """Twelve relevant, ten of them in front: nDCG@10 cannot be better, R@10 can."""
    found = scored(LETTERS[:10], dict.fromkeys(LETTERS[:12], 1.0))
    assert (found["nDCG@10"], found["R@10"], found["All@10"]) == pytest.approx((1.0, 10 / 12, 0.0))


def test_a_document_at_rank_eleven_is_not_found() -> None:
    """No metric looks past rank ten."""
    assert set(scored(LETTERS, {"k": 1.0}).values()) == {0.0}
    assert scored(LETTERS, {"j": 1.0})["MRR@10"] == pytest.approx(0.1)


@pytest.mark.parametrize("ranking", [LETTERS, LETTERS[::-1]])
def test_ids_never_decide_the_order(ranking: str) -> None:
    """trec_eval breaks ties by id; for any order of ids the second of a ranking is second."""
    assert scored(ranking, {ranking[1]: 1.0})["MRR@10"] == 0.5


def test_an_empty_ranking_scores_nothing_and_stays_in_the_mean() -> None:
    """Finding nothing is the worst answer, not a missing one."""
    data = small_set({"q1": {"a": 1.0}, "q2": {"b": 1.0}})
    scores = score(run_of({"q1": "a", "q2": ""}), data)
    assert scores["q2"] == dict.fromkeys(METRICS, 0.0)
    assert mean(scores) == dict.fromkeys(METRICS, 0.5)
    assert set(mean(score(run_of({"q1": "", "q2": ""}), data)).values()) == {0.0}


def test_only_answerable_questions_are_scored_in_the_order_of_the_set() -> None:
    """q0 has no relevant document: abstention looks at it."""
    data = small_set({"q2": {"a": 1.0}, "q1": {"b": 1.0}})
    assert list(score(run_of({"q1": "a", "q2": "b"}), data)) == ["q2", "q1"]


@pytest.mark.parametrize(
    ("ranking", "first", "fifth"),
    [
        ("sa", 1.0, 1.0),  # superseded above current
        ("as", 0.0, 0.0),  # current above superseded
        ("xs", 0.0, 1.0),  # nothing at rank 1, superseded first after it
        ("xyzwvs", 0.0, 0.0),  # superseded at rank 6
        ("xyz", 0.0, 0.0),  # neither
        ("", 0.0, 0.0),  # nothing at all
    ],
)
def test_stale_is_a_superseded_document_before_any_relevant_one(
    ranking: str, first: float, fifth: float
) -> None:
    """Of the first k, the first that is relevant or superseded decides."""
    found = scored(ranking, {"a": 1.0}, {"s"})
    assert (found["Stale@1"], found["Stale@5"]) == (first, fifth)


def test_stale_averages_over_questions_with_superseded_documents() -> None:
    """The others have no such figure, and do not water it down."""
    data = small_set({"q1": {"a": 1.0}, "q2": {"b": 1.0}}, stale={"q1": {"s"}, "q0": {"t"}})
    scores = score(run_of({"q1": "sa", "q2": "b"}), data)
    assert set(scores) == {"q1", "q2"}
    assert not set(STALE_METRICS) & set(scores["q2"])
    assert (mean(scores)["Stale@1"], mean(scores)["R@1"]) == (1.0, 0.5)


def formulas(ranking: Sequence[str], relevant: Mapping[str, float], stale: set[str]) -> dict[str, float]:
    """The definitions of the sets' own baseline tool, written out from their words."""
    ranks = {document: rank for rank, document in enumerate(ranking, 1) if document in relevant}
    found: dict[str, float] = {}
    for k in (1, 5, 10):
        within = [document for document, rank in ranks.items() if rank <= k]
        found[f"R@{k}"] = len(within) / len(relevant)
        found[f"Hit@{k}"] = 1.0 if within else 0.0
        if k > 1:
            found[f"All@{k}"] = 1.0 if len(within) == len(relevant) else 0.0
    first = min(ranks.values(), default=99)
    found["MRR@10"] = 1 / first if first <= 10 else 0.0
    best = sorted(relevant.values(), reverse=True)[:10]
    ideal = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1))
    gained = sum(relevant[name] / math.log2(rank + 1) for name, rank in ranks.items() if rank <= 10)
    found["nDCG@10"] = gained / ideal
    for k in (1, 5):
        deciding = [name for name in ranking[:k] if name in relevant or name in stale]
        found[f"Stale@{k}"] = 1.0 if deciding and deciding[0] in stale else 0.0
    return found


def test_drawn_rankings_score_as_the_formulas_say() -> None:
    """Three hundred drawn rankings with graded gains, in one call."""
    drawn = random.Random(5)
    names = [f"q{n}" for n in range(1, 301)]
    rankings = {name: drawn.sample(LETTERS, drawn.randint(0, 26)) for name in names}
    relevant = {
        name: {found: float(drawn.randint(1, 4)) for found in drawn.sample(LETTERS, drawn.randint(1, 13))}
        for name in names
    }
    stale = {name: set(LETTERS[:3]) for name in names}
    scores = score(run_of(rankings), small_set(relevant, stale=stale))
    for name in names:
        assert scores[name] == pytest.approx(formulas(rankings[name], relevant[name], stale[name]), abs=1e-9)


def with_sessions(data: EvaluationSet) -> EvaluationSet:
    """Documents a to e in session s1, f to j in s2, k to o in s3; the others in none."""
    homes = {letter: f"s{n // 5 + 1}" for n, letter in enumerate(LETTERS[:15])}
    documents = [replace(document, session_id=homes.get(document.id, "")) for document in data.documents]
    return replace(data, documents=documents)


def test_a_session_ranks_by_its_best_document() -> None:
    """Ranking z, y, a, f, b, k is two without a session, s1, s2, s3: s2 at rank 4, s3 at rank 5."""
    data = with_sessions(small_set({"q": {"a": 1.0}}, sessions={"q": {"s2", "s3"}}))
    found = score_sessions(run_of({"q": "zyafbk"}), data)["q"]
    assert (found["MRR@10"], found["R@1"], found["R@5"]) == (0.25, 0.0, 1.0)
    assert found["nDCG@10"] == pytest.approx((0.430677 + 0.386853) / 1.630930, abs=1e-6)


def test_only_questions_with_a_session_judgement_have_session_scores() -> None:
    """A set without qrels_session.tsv has none."""
    data = with_sessions(small_set({"q1": {"a": 1.0}, "q2": {"b": 1.0}}, sessions={"q2": {"s1"}}))
    run = run_of({"q1": "a", "q2": "b"})
    assert score_sessions(run, data) == {"q2": dict.fromkeys(METRICS, 1.0)}
    assert score_sessions(run, replace(data, sessions={})) == {}


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([("q0", ""), ("q1", "a")], "1 of 3 questions have no answer, 'q2' first; ask every question"),
        ([("q0", ""), ("q1", "a"), ("q2", "b"), ("q3", "")], "question 'q3': is not in the set 'small'"),
        ([("q0", ""), ("q1", "a"), ("q2", "b"), ("q1", "")], "question 'q1': is answered twice"),
        ([("q0", ""), ("q1", "aba"), ("q2", "b")], "question 'q1': ranks a document twice"),
        ([("q0", ""), ("q1", "a"), ("q2", "bA")], "question 'q2': ranks 'A', which is not in the corpus"),
    ],
)
@pytest.mark.parametrize("measure", [score, score_sessions])
def test_a_run_that_does_not_fit_its_set_is_refused(
    measure: Callable[[Run, EvaluationSet], Scores], answers: list[tuple[str, str]], said: str
) -> None:
    """A missing answer must not pass for a bad one, nor a doubled document for a better rank."""
    data = small_set({"q1": {"a": 1.0}, "q2": {"b": 1.0}})
    run = Run("small", "engine", tuple(Answer(name, tuple(ranked), 1.0) for name, ranked in answers))
    with pytest.raises(InvalidInputError, match=said):
        measure(run, data)


def test_a_run_of_another_set_is_refused() -> None:
    """Ids of two sets may look alike."""
    with pytest.raises(InvalidInputError, match=r"run\.set_name: is 'other', the set is 'small'"):
        score(replace(run_of({"q": "a"}), set_name="other"), small_set({"q": {"a": 1.0}}))
