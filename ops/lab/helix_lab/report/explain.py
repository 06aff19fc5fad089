"""How to read each figure, one line each; only of those the report has. Called by `markdown`."""

from __future__ import annotations

from typing import Final

from helix_lab.report.figures import Report, all_figures, metrics_of, part
from helix_lab.report.tables import MISSING, bold

METRICS: Final = {
    "R@k": "share of the relevant documents found within the first k.",
    "Hit@k": "share of questions with at least one relevant document within the first k.",
    "All@k": (
        "share of questions with every relevant document within the first k (strict; AR@k in papers on "
        "multi-hop retrieval)."
    ),
    "MRR@k": "mean of 1/rank of the first relevant document, 0 beyond rank k.",
    "nDCG@k": "gain of the relevant documents, discounted by rank, against the best possible order.",
    "Stale@k": (
        "share of questions where a superseded statement is within the first k before any current one; "
        "only questions that have superseded statements; lower is better."
    ),
    "Evidence@b": (
        "share of the relevant documents inside the packed context of b tokens, packed by stage 8 from the "
        "memories asked for (top_k)."
    ),
    "AllEvidence@b": "share of questions with every relevant document inside the packed context of b tokens.",
}
PARTS: Final = {
    "intervals": "[low, high]: 95 % percentile bootstrap over questions.",
    "against": (
        "difference: this profile minus the first, in percentage points; p: how often a random exchange "
        "of the two gives a difference as large."
    ),
    "linkage": (
        "gold and random pairs: gold pairs are relevant documents of one question, random ones are of the "
        "same tenant. A typed link is an edge between memories of the two; one step is such a link or a "
        "shared entity; two steps add a memory within one step of both. No path goes through a node with "
        "more edges than `expand.hub_cap` of the first profile."
    ),
    "sessions": "sessions: the same metrics on sessions; a session ranks by its best document.",
    "abstention": (
        "abstention: AUROC says how well confidence tells answerable from unanswerable questions (0.5 is "
        "chance, 1 perfect); false answer: unanswerable, yet something was packed; false abstention: "
        "answerable, yet nothing was."
    ),
    "packed": "packed context: mean tokens packed, and the share of the relevant documents inside.",
    "recall_ms": "p50 / p95 / p99: 50, 95, 99 of 100 recalls took at most this long, as the caller waited.",
    "stages_ms": "stage times: quantiles of each stage alone; the p50 need not add up to that of the recall.",
}


def explanations(report: Report) -> list[str]:
    """Lines of a Markdown list."""
    groups = all_figures(report)
    metrics = metrics_of(groups)
    lines = [
        f"- {bold(title)}: {words}"
        for title, words in METRICS.items()
        if any(name.startswith(title[:-1]) for name in metrics)
    ]
    lines += [
        f"- {bold(title)}: {words}"
        for name, (title, _, words) in ((name, line.partition(": ")) for name, line in PARTS.items())
        if any(part(figures, name) for figures in (*groups, report))
    ]
    return [*lines, f"- {bold(MISSING)}: not measured, or not defined for this set."]
