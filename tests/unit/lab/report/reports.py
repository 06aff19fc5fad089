import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from helix_lab.report.write import write_report

VOID = {"meta", "img", "br", "hr", "link"}


def times(p50: float) -> dict[str, float]:
    """Quantiles of a time."""
    return {"p50": p50, "p95": round(1.5 * p50, 2), "p99": round(2 * p50, 2)}


def figures(value: float, **more: Any) -> dict[str, Any]:
    """All figures of one profile on one set; no two of them are alike by chance."""
    metrics = dict(zip(("R@1", "R@5", "R@10", "Hit@1", "Hit@5", "Hit@10"), range(6), strict=True))
    metrics |= {"All@5": 6, "All@10": 7, "MRR@10": 8, "nDCG@10": 9, "Evidence@500": 10, "AllEvidence@500": 11}
    scores = {name: round(value + 1.1 * step, 1) for name, step in metrics.items()}
    return {
        "queries": 997,
        **scores,
        "Stale@1": None,
        "Stale@5": None,
        "recall_ms": times(value / 10),
        "stages_ms": {
            "embed": times(2.31),
            "retrieve": times(3.17),
            "fuse": times(0.01),
            "pack": times(0.02),
        },
        "intervals": {name: [round(score - 2.3, 1), round(score + 2.1, 1)] for name, score in scores.items()},
        "categories": {},
        "sessions": None,
        "abstention": None,
        "packed": {"tokens": 812.4, "evidence": 61.7},
        "skipped": 0,
        "against": {},
        **more,
    }


def against(profile: str, value: float, low: float, high: float) -> dict[str, Any]:
    """A comparison by R@10."""
    return {"profile": profile, "R@10": {"difference": value, "low": low, "high": high, "p": 0.0123}}


def linkage() -> dict[str, Any]:
    """Pairs of one set, connected by one length of path."""
    gold, random = {"one step": 62.3, "intervals": {"one step": [57.1, 67.9]}}, {"one step": 4.7}
    difference = {"one step": {"difference": 57.6, "low": 51.4, "high": 63.2, "p": 0.0007}}
    return {"questions": 137, "pairs": 391, "gold": gold, "random": random, "against": difference}


def full() -> dict[str, Any]:
    """A report that has every part of the form."""
    categories = {"temporal": {"queries": 321, "R@10": 83.2, "MRR@10": 44.4}, "other": {"queries": 12}}
    abstention = {"questions": 21, "AUROC": 0.713, "false_answer_rate": 85.7, "false_abstention_rate": 1.3}
    sessions = {"queries": 4, "R@5": 75.1, "Hit@10": 87.6}
    return {
        "sets": {
            "locomo": {
                "dense": figures(30.4, categories=categories),
                "helix": figures(60.7, categories=categories, against=against("dense", 30.3, 27.9, 32.6)),
            },
            "beam100k": {
                "dense": figures(51.3, abstention=abstention, **{"Stale@1": 12.5, "Stale@5": 17.9}),
                "helix": figures(50.2, sessions=sessions, against=against("dense", -1.1, -3.2, 0.9)),
            },
        },
        "linkage": {"locomo": linkage()},
        "meta": {"command": "helix-lab eval", "versions": {"numpy": "2.3.4"}, "seconds": 12.5},
    }


class Page(HTMLParser):
    """What a browser would see: elements with attributes, cells of each row of each table, nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[int]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element; count rows and cells."""
        self.seen.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append(0)
        if tag in {"td", "th"}:
            self.tables[-1][-1] += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """What closes is what was opened last."""
        assert tag in VOID or self.open.pop() == tag

    def tags(self) -> set[str]:
        """Names of all elements."""
        return {tag for tag, _ in self.seen}

    def sources(self) -> list[str]:
        """Where the pictures come from."""
        return [attrs["src"] or "" for tag, attrs in self.seen if tag == "img"]


def rendered(report: dict[str, Any], folder: Path) -> tuple[str, Page, list[Path]]:
    """Markdown, page and paths of a written report."""
    paths = write_report(report, folder / "report.json")
    page = Page((folder / "report.html").read_text("utf-8"))
    assert not page.open
    return (folder / "report.md").read_text("utf-8"), page, paths


def cells(line: str) -> list[str]:
    """Cells of a Markdown table line."""
    return re.split(r"(?<!\\)\|", line.strip())[1:-1]
