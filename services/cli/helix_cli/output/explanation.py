"""Prints the explanation of a recall: the parts of each candidate's score, and the time of each stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from helix_cli.output.terminal import one_line, plain, printable
from helix_memory.recall.v1 import recall_pb2

if TYPE_CHECKING:
    from rich.console import Console

SHOWN: Final = 30
"""Candidates that are printed without --full."""
EXCERPT_CHARACTERS: Final = 60
ID_DIGITS: Final = 8
"""Digits of an id that are printed without --full; an id has 32."""
BAR_CELLS: Final = 48
INDENT: Final = " " * 6
GAP: Final = " · "

REASONS: Final = {
    recall_pb2.LOSS_THRESHOLD: "below the threshold",
    recall_pb2.LOSS_NOT_AMONG_BEST: "not among the best",
    recall_pb2.LOSS_NEAR_DUPLICATE: "near-duplicate",
    recall_pb2.LOSS_TOP_K: "beyond top_k",
    recall_pb2.LOSS_ALREADY_SERVED: "already served",
    recall_pb2.LOSS_TOKEN_BUDGET: "over the token budget",
    recall_pb2.LOSS_ABSTAINED: "nothing packed, because no memory is relevant enough",
    recall_pb2.LOSS_FORGOTTEN: "forgotten",
    recall_pb2.LOSS_ERASED: "about to be erased",
    recall_pb2.LOSS_REPLACED: "replaced by a later memory",
    recall_pb2.LOSS_NOT_VALID: "not valid",
    recall_pb2.LOSS_DECAYED: "hidden by decay",
    recall_pb2.LOSS_RESTATEMENT: "restatement",
    recall_pb2.LOSS_QUOTED: "quoted by a packed statement",
    recall_pb2.LOSS_SAME_TURN: "its derived statement takes its place",
}
_SHORT: Final = {"recency": "rec", "salience": "sal", "confidence": "conf", "graph": "graph"}


def print_explanation(console: Console, explanation: recall_pb2.Explanation, *, full: bool = False) -> None:
    """Print the candidates, best first; dropped ones dim, with the reason.

    Prints the first `SHOWN`, or with `full` all of them with their whole ids.
    """
    shown = explanation.candidates if full else explanation.candidates[:SHOWN]
    console.print(_scoring_line(explanation))
    for candidate in shown:
        _print_candidate(console, candidate, whole_ids=full)
    left = max(explanation.candidate_count, len(explanation.candidates)) - len(shown)
    if left:
        console.print(f"and {left} more; --full shows them all")
    if explanation.withheld:
        console.print(f"{explanation.withheld} removed by the final visibility check")


def print_waterfall(console: Console, reply: recall_pb2.RecallResponse) -> None:
    """Print the stages as bars on one time axis."""
    whole = sum(stage.milliseconds for stage in reply.stages) or 1.0
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("stage", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    begin = 0.0
    for stage in reply.stages:
        start, end = (round(BAR_CELLS * at / whole) for at in (begin, begin + stage.milliseconds))
        bar = " " * min(start, BAR_CELLS - 1) + "█" * max(end - start, 1)
        table.add_row(plain(stage.stage), f"{stage.milliseconds:.2f}", bar[:BAR_CELLS])
        begin += stage.milliseconds
    console.print(table)


def _scoring_line(explanation: recall_pb2.Explanation) -> Text:
    """How the scores are computed, on one line."""
    first = next(iter(explanation.candidates), recall_pb2.Candidate())
    fusion = f"rrf, k = {first.fusion.k}" if first.fusion.method == "rrf" else first.fusion.method
    parts = [f"fusion {fusion}"]
    if explanation.HasField("dense_share"):
        parts.append(f"dense {explanation.dense_share:.2f}, lexical {1 - explanation.dense_share:.2f}")
    relevance = (
        f"relevance {first.method}, sim = {first.fused_share:g} fused + {1 - first.fused_share:g} cosine"
    )
    if first.method == "multiplicative":
        relevance += f", graph {first.graph_weight:g}, quality weight {first.quality_weight:g}"
    parts.append(relevance)
    if explanation.query_adapter:
        parts.append(f"question moved by the adapter {explanation.query_adapter}")
    if explanation.graph_method:
        parts.append(f"graph by {explanation.graph_method}")
    if explanation.threshold:
        compared = "relevance" if explanation.threshold_on_relevance else "score"
        parts.append(f"threshold {explanation.threshold:g} on {compared}")
    return Text(printable(f"explained   {'; '.join(parts)}"))


def _print_candidate(console: Console, candidate: recall_pb2.Candidate, *, whole_ids: bool) -> None:
    """Print a candidate and its outcome; below, the parts of its score.

    Lines break between values only. On a narrow terminal only the excerpt is cut.
    """
    style = "" if candidate.packed else "dim"
    shown_id = "" if whole_ids else f"  {candidate.memory_id[:ID_DIGITS]}"
    head = plain(f"{candidate.place or '-':>4}  {candidate.score:.4f}  {outcome(candidate)}{shown_id} ")
    excerpt = plain(one_line(candidate.excerpt, characters=EXCERPT_CHARACTERS))
    if console.is_terminal:
        excerpt.truncate(max(console.width - head.cell_len, 1), overflow="ellipsis")
    console.print(head + excerpt, style=style, soft_wrap=True)
    if whole_ids:
        console.print(plain(f"{INDENT}id {candidate.memory_id}"), style=style, soft_wrap=True)
        if candidate.duplicate_of:
            console.print(
                plain(f"{INDENT}duplicate of {candidate.duplicate_of}"), style=style, soft_wrap=True
            )
    values = [
        *(f"{hit.query or hit.channel} {_hit(hit)}" for hit in candidate.hits),
        "fused assigned" if candidate.fusion.assigned else f"fused {candidate.fusion.score:.4f}",
        *_signals(candidate),
        *_factors(candidate),
    ]
    for parts in (values, [*_words(candidate)], [*_cross_encoding(candidate)]):
        for line in _lines(parts, width=console.width - len(INDENT)):
            console.print(Text(INDENT + line), style=style, soft_wrap=True)


def _lines(values: Sequence[str], *, width: int) -> Iterator[str]:
    """Lines of at most `width` characters that hold whole values."""
    line = ""
    for value in map(printable, values):
        if line and len(line) + len(GAP) + len(value) > width:
            yield line
            line = ""
        line = f"{line}{GAP}{value}" if line else value
    if line:
        yield line


def outcome(candidate: recall_pb2.Candidate) -> str:
    """The rank of a candidate, or the reason why it was dropped."""
    if candidate.packed:
        return f"rank {candidate.rank}"
    reason = REASONS.get(candidate.loss, "dropped")
    if candidate.duplicate_of:
        reason += f" of {candidate.duplicate_of[:ID_DIGITS]} ({candidate.similarity:.2f})"
    return f"rank {candidate.rank}, {reason}" if candidate.rank else reason


def _hit(hit: recall_pb2.ChannelHit | None) -> str:
    return "" if hit is None else f"#{hit.rank} {hit.score:.3g}"


def _signals(candidate: recall_pb2.Candidate) -> Iterator[str]:
    for signal in candidate.signals:
        if signal.name == "sim" or (signal.name in _SHORT and signal.weight):
            yield f"{_SHORT.get(signal.name, signal.name)} {signal.normalised:.2f}"


def _words(candidate: recall_pb2.Candidate) -> Iterator[str]:
    """Words of the query with the nearest word of the memory."""
    for match in candidate.late_interaction.words:
        yield f"{match.word} ~ {match.nearest or '?'} {match.similarity:.2f}"


def _cross_encoding(candidate: recall_pb2.Candidate) -> Iterator[str]:
    """What the cross-encoder says, in its own numbers and in standard deviations."""
    if candidate.HasField("cross_encoding"):
        cross = candidate.cross_encoding
        yield f"{cross.model} logit {cross.logit:.3f}"
        yield f"{cross.normalised:+.2f} standard deviations x {cross.scale:.3g}"


def _factors(candidate: recall_pb2.Candidate) -> Iterator[str]:
    """Boosts and steps that change the score."""
    for boost in candidate.boosts:
        if boost.value != 1.0:
            yield f"{boost.name} x{boost.value:.3g}"
    for step in candidate.steps:
        if step.value != (0.0 if step.adds else 1.0):
            yield f"{step.name} {'+' if step.adds else 'x'}{step.value:.3g}"
