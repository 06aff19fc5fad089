"""One entry of the report, worked out by hand from four questions."""

import json
from dataclasses import replace

import pytest

from helix_lab.measures.figures import figures_of
from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_shared.errors import InvalidInputError

DOCUMENTS = [Document(name, "text", "", "", f"s{name}" if name in "ab" else "", "", "") for name in "abcdxyz"]
QUESTIONS = [
    Question("q1", "text", "fact", "", ""),
    Question("q2", "text", "time", "", ""),
    Question("q3", "text", "fact", "", ""),
    Question("q4", "text", "none", "", ""),
]
DATA = EvaluationSet(
    "small",
    DOCUMENTS,
    QUESTIONS,
    {"q1": {"a": 1.0}, "q2": {"b": 1.0, "c": 1.0}, "q3": {"d": 1.0}},
    stale={"q1": {"x"}},
)
RUN = Run(
    "small",
    "helix",
    (
        Answer("q1", ("x", "a"), 1.0, {"embed": 0.5, "rank": 0.25}, packed=("x", "a"), packed_tokens=30),
        Answer("q2", ("b", "c"), 2.0, {"embed": 1.5, "rank": 0.25}, packed=("b",), packed_tokens=15),
        Answer("q3", (), 3.0, {"embed": 0.5}, skipped=True),
        Answer("q4", ("y",), 10.0, {"embed": 0.5}, packed=("y",), packed_tokens=500),
    ),
)


def test_quality_is_the_mean_over_answerable_questions_in_percent() -> None:
    """R@1 is 0, 1/2 and 0; Hit@1 0, 1, 0; the skipped question counts as not found."""
    found = figures_of(RUN, DATA)
    expected = {"queries": 3, "R@1": 16.7, "R@5": 66.7, "R@10": 66.7, "Hit@1": 33.3, "Hit@5": 66.7}
    assert {name: found[name] for name in expected} == expected
    assert (found["All@5"], found["MRR@10"], found["nDCG@10"]) == (66.7, 50.0, 54.4)
    assert found["skipped"] == 1


def test_stale_is_over_questions_with_superseded_documents_or_null() -> None:
    """Only q1 has one, and it is ranked first."""
    assert (figures_of(RUN, DATA)["Stale@1"], figures_of(RUN, DATA)["Stale@5"]) == (100.0, 100.0)
    without = figures_of(RUN, replace(DATA, stale={}))
    assert (without["Stale@1"], without["Stale@5"]) == (None, None)
    assert "Stale@1" not in without["intervals"]


def test_latency_is_over_all_questions() -> None:
    """1, 2, 3 and 10 ms: half way between the middle two, and 95 % between first and last."""
    found = figures_of(RUN, DATA)
    assert found["recall_ms"] == {"p50": 2.5, "p95": 8.95, "p99": 9.79}
    assert list(found["stages_ms"]) == ["embed", "rank"]
    assert found["stages_ms"]["rank"] == {"p50": 0.25, "p95": 0.25, "p99": 0.25}
    assert found["stages_ms"]["embed"]["p50"] == 0.5


def test_every_metric_has_an_interval_around_its_mean() -> None:
    """In percent, lower end first."""
    found = figures_of(RUN, DATA)
    assert found["intervals"]["Stale@1"] == [100.0, 100.0]
    assert found["intervals"]["R@1"] == [0.0, 50.0]
    assert all(low <= found[name] <= high for name, (low, high) in found["intervals"].items())
    assert set(found["intervals"]) == {name for name in found if "@" in name}


def test_categories_are_rows_of_their_own() -> None:
    """By name; a category of unanswerable questions has no quality; Stale is null where none is stale."""
    rows = figures_of(RUN, DATA)["categories"]
    assert list(rows) == ["fact", "time"]
    assert (rows["fact"]["queries"], rows["fact"]["MRR@10"], rows["fact"]["Stale@1"]) == (2, 25.0, 100.0)
    assert (rows["time"]["queries"], rows["time"]["R@1"], rows["time"]["Stale@1"]) == (1, 50.0, None)


def test_one_category_needs_no_rows() -> None:
    """They would repeat the whole; questions without a category are one named with a dash."""
    plain = [replace(question, category="") for question in QUESTIONS]
    assert figures_of(RUN, replace(DATA, questions=plain))["categories"] == {}
    mixed = [QUESTIONS[0], *plain[1:]]
    assert list(figures_of(RUN, replace(DATA, questions=mixed))["categories"]) == ["-", "fact"]


def test_sessions_are_judged_where_the_set_judges_them() -> None:
    """Document x has no session, so sa is second; q2's session sb is first."""
    assert figures_of(RUN, DATA)["sessions"] is None
    found = figures_of(RUN, replace(DATA, sessions={"q1": {"sa"}, "q2": {"sb"}}))["sessions"]
    assert (found["queries"], found["Hit@1"], found["R@5"], found["MRR@10"]) == (2, 50.0, 100.0, 75.0)
    assert "Stale@1" not in found


def test_abstention_is_about_the_unanswerable_questions() -> None:
    """q4 got a context, skipped q3 none; all confidences are 0, so q3 loses and two tie: 1 of 3 pairs."""
    assert figures_of(RUN, DATA)["abstention"] == {
        "questions": 1,
        "AUROC": 0.333,
        "false_answer_rate": 100.0,
        "false_abstention_rate": 33.3,
    }
    answerable = replace(DATA, questions=QUESTIONS[:3])
    assert figures_of(replace(RUN, answers=RUN.answers[:3]), answerable)["abstention"] is None


def test_packed_evidence_is_the_share_of_relevant_documents_handed_over() -> None:
    """All of q1's, one of q2's two, none of q3's: 50 %; 30, 15 and 0 tokens."""
    assert figures_of(RUN, DATA)["packed"] == {"tokens": 15.0, "evidence": 50.0}


def test_evidence_is_measured_at_every_budget() -> None:
    """At 500 tokens q1's document and one of q2's two are inside, at 1,000 all of both; q3 has nothing."""
    found = figures_of(within(RUN, {"q1": ("a", "a"), "q2": ("b", "bc"), "q3": ("", "")}), DATA)
    expected = {
        "Evidence@500": 50.0,
        "Evidence@1000": 66.7,
        "AllEvidence@500": 33.3,
        "AllEvidence@1000": 66.7,
    }
    assert {name: found[name] for name in expected} == expected
    assert found["intervals"]["Evidence@1000"] == [0.0, 100.0]


def within(run: Run, packed: dict[str, tuple[str, str]]) -> Run:
    """The run with these documents, one a letter, inside 500 and 1,000 tokens."""
    packs = {name: {500: tuple(small), 1_000: tuple(large)} for name, (small, large) in packed.items()}
    answers = (replace(one, packed_within=packs.get(one.question_id, {})) for one in run.answers)
    return replace(run, answers=tuple(answers))


def test_evidence_is_compared_where_both_runs_have_it() -> None:
    """An engine that packs nothing is compared by its ranking alone."""
    packs = {"q1": ("", "a"), "q2": ("b", "bc"), "q3": ("", "")}
    against = figures_of(within(RUN, packs), DATA, baseline=replace(RUN, name="bare"))["against"]
    assert "R@5" in against
    assert "Evidence@500" not in against
    before = within(replace(RUN, name="before"), packs | {"q1": ("", "")})
    against = figures_of(within(RUN, packs), DATA, baseline=before)["against"]
    assert against["Evidence@1000"]["difference"] == 33.3


def test_a_run_is_compared_with_the_baseline() -> None:
    """Document a moved up for q1: R@1 gains 1/3, one of three questions, which chance gives every time."""
    better = replace(
        RUN, name="better", answers=(replace(RUN.answers[0], ranking=("a", "x")), *RUN.answers[1:])
    )
    against = figures_of(better, DATA, baseline=RUN)["against"]
    assert against["profile"] == "helix"
    assert against["R@1"] == {"difference": 33.3, "low": 0.0, "high": 100.0, "p": 1.0}
    assert against["Stale@1"]["difference"] == -100.0
    assert against["R@5"] == {"difference": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}


def test_without_a_baseline_or_as_its_own_a_run_has_no_comparison() -> None:
    """The first profile of a run is what the others are compared with."""
    assert figures_of(RUN, DATA)["against"] == figures_of(RUN, DATA, baseline=RUN)["against"] == {}


def test_a_difference_too_small_to_show_has_no_sign() -> None:
    """One of 2,001 questions lost is -0.05 points: written 0.0, not -0.0."""
    questions = [Question(f"q{n}", "text", "", "", "") for n in range(2_001)]
    data = replace(DATA, questions=questions, relevant={q.id: {"a": 1.0} for q in questions}, stale={})
    found = Run("small", "all", tuple(Answer(q.id, ("a",), 1.0) for q in questions))
    but_one = Run("small", "but one", (Answer("q0", (), 1.0), *found.answers[1:]))
    against = figures_of(but_one, data, baseline=found)["against"]
    assert str(against["R@5"]["difference"]) == "0.0"
    assert against["R@5"]["p"] == 1.0


def test_skipping_an_unanswerable_question_is_no_mistake() -> None:
    """Only answerable ones count as skipped."""
    answers = (*RUN.answers[:3], replace(RUN.answers[3], skipped=True))
    assert figures_of(replace(RUN, answers=answers), DATA)["skipped"] == 1


def test_the_entry_is_json_and_comes_out_the_same_every_time() -> None:
    """Intervals and tests draw from a fixed seed."""
    other = replace(RUN, name="other", answers=tuple(replace(a, ranking=()) for a in RUN.answers))
    once, again = (json.dumps(figures_of(RUN, DATA, baseline=other)) for _ in range(2))
    assert once == again
    assert list(json.loads(once)) == [
        *("queries", "R@1", "R@5", "R@10", "Hit@1", "Hit@5", "Hit@10", "All@5", "All@10", "MRR@10"),
        *("nDCG@10", "Stale@1", "Stale@5", "recall_ms", "stages_ms", "intervals", "categories"),
        *("sessions", "abstention", "packed", "skipped", "against"),
    ]


def test_a_set_without_answerable_questions_is_refused() -> None:
    """There is no quality to measure; the reason given is its judgements."""
    with pytest.raises(InvalidInputError, match="small: no question has a relevant document in qrels"):
        figures_of(RUN, replace(DATA, relevant={}))


def test_an_engine_that_packs_nothing_has_no_packed_figures() -> None:
    """Nought would read as measured."""
    bare = replace(RUN, answers=tuple(replace(answer, packed=(), packed_tokens=0) for answer in RUN.answers))
    assert figures_of(bare, DATA)["packed"] is None
