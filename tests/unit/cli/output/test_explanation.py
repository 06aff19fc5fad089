import io

import pytest
from rich.console import Console

from helix_cli.output.explanation import BAR_CELLS, SHOWN, outcome, print_explanation, print_waterfall
from helix_memory.recall.v1 import recall_pb2

ID = "4f" * 16


def explanation_of(count: int) -> recall_pb2.Explanation:
    """An explanation of `count` candidates; the first is packed, the others are dropped."""
    explanation = recall_pb2.Explanation(dense_share=0.25)
    for number in range(count):
        candidate = explanation.candidates.add(
            memory_id=f"{number:032x}",
            excerpt=f"[red]memory {number}[/red]\x1b[2J",
            method="multiplicative",
            fused_share=1.0,
            place=number + 1,
            score=0.5,
            rank=0 if number else 1,
            packed=not number,
            loss=recall_pb2.LOSS_TOP_K if number else recall_pb2.LOSS_NONE,
        )
        candidate.fusion.method = "minmax"
        candidate.fusion.score = 0.625
        candidate.hits.add(channel="dense", rank=3, score=0.612)
        candidate.hits.add(channel="lexical", query="other words", rank=1, score=12.0)
        candidate.signals.add(name="sim", normalised=0.75, weight=1.0)
        candidate.signals.add(name="recency", normalised=0.5, weight=0.3)
        candidate.signals.add(name="graph", normalised=0.9, weight=0.0)
        candidate.boosts.add(name="window", value=1.2)
        candidate.boosts.add(name="pinned", value=1.0)
        candidate.steps.add(name="latest_statement", value=2.5, adds=True)
        candidate.late_interaction.words.add(word="moved", nearest="relocated", similarity=0.61, rarity=2.0)
        candidate.late_interaction.words.add(word="Graz", similarity=0.2, rarity=5.0)
        candidate.cross_encoding.model = "ms-marco"
        candidate.cross_encoding.logit = -3.25
        candidate.cross_encoding.normalised = 1.5
        candidate.cross_encoding.scale = 0.125
    return explanation


def printed(explanation: recall_pb2.Explanation, *, full: bool = False) -> str:
    """The table as text."""
    stream = io.StringIO()
    print_explanation(Console(file=stream, width=220), explanation, full=full)
    return stream.getvalue()


def test_a_candidate_shows_lists_signals_and_factors_that_change_its_score() -> None:
    """Neutral factors and signals of weight 0 are left out; markup in a memory's text has no effect."""
    text = printed(explanation_of(2))
    for part in ("dense #3 0.612", "other words #1 12", "fused 0.6250", "sim 0.75 · rec 0.50", "window x1.2"):
        assert part in text
    assert "latest_statement +2.5" in text
    assert "moved ~ relocated 0.61 · Graz ~ ? 0.20" in text
    assert "ms-marco logit -3.250 · +1.50 standard deviations x 0.125" in text
    assert "dense 0.25, lexical 0.75" in text
    assert "[red]memory 1[/red]" in text
    assert "rank 1" in text
    assert "beyond top_k" in text
    assert "pinned" not in text
    assert "graph 0.90" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("columns", [80, 120])
def test_an_explanation_fits_the_terminal_and_breaks_between_values(columns: int) -> None:
    """A candidate takes a head line and few more, and no value is cut."""
    explanation = explanation_of(1)
    explanation.candidates[0].hits.add(
        channel="lexical", query="a much longer rephrasing", rank=40, score=3.25
    )
    stream = io.StringIO()
    print_explanation(Console(file=stream, width=columns), explanation)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= columns
    assert len(lines) <= 7
    for value in ("a much longer rephrasing #40 3.25", "latest_statement +2.5", "window x1.2", "sim 0.75"):
        assert any(value in line for line in lines), lines


def test_more_candidates_than_fit_are_counted() -> None:
    """With --full all are printed, with their whole ids."""
    explanation = explanation_of(SHOWN + 4)
    assert "and 4 more; --full shows them all" in printed(explanation)
    assert "more; --full" not in printed(explanation, full=True)
    assert explanation.candidates[-1].memory_id in printed(explanation, full=True)


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("columns", [40, 80])
def test_a_narrow_terminal_cuts_the_excerpt_alone(columns: int, *, terminal: bool) -> None:
    """Ids are printed whole, so that they can be copied; in a pipe nothing is cut."""
    explanation = explanation_of(1)
    one = explanation.candidates[0]
    one.excerpt = "We chose Postgres for the ledger; Priya ran it."
    one.packed, one.loss, one.duplicate_of, one.similarity = False, recall_pb2.LOSS_NEAR_DUPLICATE, ID, 0.93
    stream = io.StringIO()
    console = Console(
        file=stream, width=columns, force_terminal=terminal, color_system=None, legacy_windows=False
    )
    print_explanation(console, explanation, full=True)
    lines = stream.getvalue().splitlines()
    head = next(line for line in lines if "near-duplicate of" in line)
    assert "near-duplicate of 4f4f4f4f (0.93)" in head
    assert (one.excerpt in head) is not terminal
    assert head.endswith("…") is terminal
    assert (f"      id {one.memory_id}" in lines, f"      duplicate of {ID}" in lines) == (True, True)


def test_every_loss_has_a_reason() -> None:
    """A duplicate names the other memory; a memory over the budget keeps its rank."""
    one = recall_pb2.Candidate(loss=recall_pb2.LOSS_NEAR_DUPLICATE, duplicate_of=ID, similarity=0.9)
    assert outcome(one) == "near-duplicate of 4f4f4f4f (0.90)"
    assert (
        outcome(recall_pb2.Candidate(loss=recall_pb2.LOSS_TOKEN_BUDGET, rank=4))
        == "rank 4, over the token budget"
    )
    assert outcome(recall_pb2.Candidate(loss=recall_pb2.LOSS_NONE, rank=2, packed=True)) == "rank 2"
    possible = set(recall_pb2.Loss.values()) - {
        recall_pb2.LOSS_NONE, recall_pb2.LOSS_FILTER, recall_pb2.LOSS_SKIPPED, recall_pb2.LOSS_NOT_RETRIEVED,
    }  # fmt: skip
    assert all(outcome(recall_pb2.Candidate(loss=loss)) != "dropped" for loss in possible)


def test_each_bar_of_the_waterfall_begins_where_the_last_ended() -> None:
    """Half the time is half the cells; a stage of 0 ms has one cell."""
    reply = recall_pb2.RecallResponse()
    for stage, milliseconds in (("embed", 5.0), ("route", 0.0), ("retrieve", 5.0)):
        reply.stages.add(stage=stage, milliseconds=milliseconds)
    stream = io.StringIO()
    print_waterfall(Console(file=stream, width=120), reply)
    lines = stream.getvalue().splitlines()[1:]
    bars = [line[line.index("█") :].rstrip() for line in lines]
    assert [len(bar) for bar in bars] == [BAR_CELLS // 2, 1, BAR_CELLS // 2]
    starts = [line.index("█") for line in lines]
    assert starts[1] - starts[0] == starts[2] - starts[0] == BAR_CELLS // 2
