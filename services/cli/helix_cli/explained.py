"""An explanation for people: candidates with what made their score, and where the time went."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from helix.recall.v1 import recall_pb2
from helix_cli.terminal import one_line, plain, printable

if TYPE_CHECKING:
    from rich.console import Console

SHOWN: Final = 30
"""Candidates of a table that is not asked to be full."""
EXCERPT_CHARACTERS: Final = 60
BAR_CELLS: Final = 48

REASONS: Final = {
    recall_pb2.LOSS_THRESHOLD: "below the threshold",
    recall_pb2.LOSS_NOT_AMONG_BEST: "not among the best",
    recall_pb2.LOSS_NEAR_DUPLICATE: "near-duplicate",
    recall_pb2.LOSS_TOP_K: "beyond top_k",
    recall_pb2.LOSS_ALREADY_SERVED: "already served",
    recall_pb2.LOSS_TOKEN_BUDGET: "no room",
    recall_pb2.LOSS_ABSTAINED: "abstained",
}
_SHORT: Final = {"recency": "rec", "salience": "sal", "confidence": "conf", "graph": "graph"}


def print_explanation(
    console: Console, explanation: recall_pb2.Explanation, *, all_of_them: bool = False
) -> None:
    """Every candidate in a row, best first, dropped ones dim with the reason."""
    shown = explanation.candidates if all_of_them else explanation.candidates[:SHOWN]
    console.print(_arithmetic(explanation))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("place", "dense", "lexical"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("fate")
    table.add_column("other lists")
    table.add_column("fused", justify="right", no_wrap=True)
    table.add_column("signals")
    table.add_column("factors")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("memory", overflow="fold", ratio=1)
    for candidate in shown:
        _add(table, candidate, id_digits=32 if all_of_them else 8)
    console.print(table)
    left = len(explanation.candidates) - len(shown)
    if left:
        console.print(f"and {left} more; --full shows them all")
    if explanation.withheld:
        console.print(f"{explanation.withheld} withheld by the last check of the scope")


def print_waterfall(console: Console, reply: recall_pb2.RecallResponse) -> None:
    """Stages below each other, each bar where it began and as long as it took."""
    whole = sum(stage.milliseconds for stage in reply.stages) or 1.0
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("stage", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    began = 0.0
    for stage in reply.stages:
        start, end = (round(BAR_CELLS * at / whole) for at in (began, began + stage.milliseconds))
        bar = " " * min(start, BAR_CELLS - 1) + "█" * max(end - start, 1)
        table.add_row(plain(stage.stage), f"{stage.milliseconds:.2f}", bar[:BAR_CELLS])
        began += stage.milliseconds
    console.print(table)


def _arithmetic(explanation: recall_pb2.Explanation) -> Text:
    """How scores are made here, in a line."""
    first = next(iter(explanation.candidates), recall_pb2.Candidate())
    fusion = f"rrf, k = {first.fusion.k}" if first.fusion.form == "rrf" else first.fusion.form
    parts = [f"fusion {fusion}"]
    if explanation.HasField("dense_share"):
        parts.append(f"dense {explanation.dense_share:.2f}, lexical {1 - explanation.dense_share:.2f}")
    relevance = (
        f"relevance {first.form}, sim = {first.fused_share:g} fused + {1 - first.fused_share:g} cosine"
    )
    if first.form == "multiplicative":
        relevance += f", graph {first.graph_share:g}, strength {first.strength:g}"
    parts.append(relevance)
    if explanation.graph_form:
        parts.append(f"graph by {explanation.graph_form}")
    if explanation.threshold:
        held = "relevance" if explanation.threshold_on_relevance else "score"
        parts.append(f"threshold {explanation.threshold:g} on {held}")
    return Text(printable(f"explained   {'; '.join(parts)}"))


def _add(table: Table, candidate: recall_pb2.Candidate, *, id_digits: int) -> None:
    own = {hit.channel: hit for hit in candidate.hits if not hit.query}
    excerpt = one_line(candidate.excerpt, characters=EXCERPT_CHARACTERS)
    others = [hit for hit in candidate.hits if hit.query or hit.channel not in ("dense", "lexical")]
    table.add_row(
        str(candidate.place or "-"),
        _hit(own.get("dense")),
        _hit(own.get("lexical")),
        plain(fate(candidate)),
        plain("; ".join(f"{hit.query or hit.channel} {_hit(hit)}" for hit in others)),
        "assigned" if candidate.fusion.assigned else f"{candidate.fusion.score:.4f}",
        " ".join(_signals(candidate)),
        plain(" ".join(_factors(candidate))),
        f"{candidate.score:.4f}",
        plain(f"{candidate.memory_id[:id_digits]} {excerpt}"),
        style="" if candidate.packed else "dim",
    )


def fate(candidate: recall_pb2.Candidate) -> str:
    """Its rank, or what dropped it."""
    if candidate.packed:
        return f"rank {candidate.rank}"
    reason = REASONS.get(candidate.loss, "dropped")
    if candidate.duplicate_of:
        reason += f" of {candidate.duplicate_of[:8]} ({candidate.likeness:.2f})"
    return f"rank {candidate.rank}, {reason}" if candidate.rank else reason


def _hit(hit: recall_pb2.ChannelHit | None) -> str:
    return "" if hit is None else f"#{hit.rank} {hit.score:.3g}"


def _signals(candidate: recall_pb2.Candidate) -> Iterator[str]:
    for signal in candidate.signals:
        if signal.name == "sim" or (signal.name in _SHORT and signal.weight):
            yield f"{_SHORT.get(signal.name, signal.name)} {signal.normalised:.2f}"


def _factors(candidate: recall_pb2.Candidate) -> Iterator[str]:
    """What is not neutral."""
    for boost in candidate.boosts:
        if boost.value != 1.0:
            yield f"{boost.name} x{boost.value:.3g}"
    for step in candidate.steps:
        if step.value != (0.0 if step.adds else 1.0):
            yield f"{step.name} {'+' if step.adds else 'x'}{step.value:.3g}"
