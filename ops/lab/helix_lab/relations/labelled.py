"""Labelled pairs: a new document, an earlier one, and how the new one relates to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any, Final

from helix_lab.sets.data import Document, EvaluationSet

UPDATE, RESTATEMENT, EXTENSION, REVERSAL, CONTRADICTION, LOOK_ALIKE, UNRELATED = CLASSES = (
    "update", "restatement", "extension", "reversal", "contradiction", "look-alike", "unrelated",
)  # fmt: skip
REVIVED: Final = "revived"
"""The older statement of a reversal whose value holds again."""
UNJUDGED: Final = "unjudged"
"""Probably related, but nobody said how: neither right nor wrong."""
NEAR: Final = "near"
"""Documents of a set without updates that are near each other."""
SURE_GAIN: Final = 2


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Documents and the classes of some pairs (older id, newer id)."""

    data: EvaluationSet
    classes: dict[tuple[str, str], str]
    only_pairs: bool = False
    """Pairs without a class are unjudged; else they count as unrelated."""
    otherwise: str = ""
    """Class of the pairs without one."""
    groups: dict[str, str] = field(default_factory=dict)
    """What is left out of the fit together, by newer id; by default the tenant."""


def of_set(data: EvaluationSet) -> LabelledSet:
    """Pairs of a set with outdated documents: each and the later document that answers the question.

    Other pairs among the judged documents of one question are unjudged: outdated values follow each other.
    """
    order = {document.id: at for at, document in enumerate(data.documents)}
    classes: dict[tuple[str, str], str] = {}
    for question, stale in data.stale.items():
        relevant = data.relevant.get(question, {})
        for older in stale:
            for newer in (*relevant, *stale):
                if order[newer] > order[older]:
                    sure = relevant.get(newer, 0) >= SURE_GAIN and newer not in stale
                    if sure or (older, newer) not in classes:
                        classes[older, newer] = UPDATE if sure else UNJUDGED
    return LabelledSet(data, classes)


def stories() -> LabelledSet:
    """Timelines in which every turn names the values it sets; a later other value is an update."""
    rows = list(_lines("stories.jsonl"))
    documents = [
        _document(row["id"], row, session=row["session"], tenant=row["story"], speaker=row["speaker"])
        for row in rows
    ]
    classes: dict[tuple[str, str], str] = {}
    values: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in rows:
        for name, value in row.get("sets", {}).items():
            before = values.setdefault((row["story"], name), [])
            for older, other in before:
                unsure = value.endswith("?") or other.endswith("?")
                kind = RESTATEMENT if value == other else UNJUDGED if unsure else UPDATE
                classes.setdefault((older, row["id"]), kind)
            before.append((row["id"], value))
    return LabelledSet(EvaluationSet("relation-stories", documents, [], {}), classes)


def pairs() -> LabelledSet:
    """Single pairs by class; candidates from other pairs count for nothing."""
    documents: list[Document] = []
    classes: dict[tuple[str, str], str] = {}
    groups: dict[str, str] = {}
    for number, row in enumerate(_lines("pairs.jsonl")):
        ids = {side: f"{number:03d}-{side}" for side in ("first", "older", "newer") if side in row}
        for side, identifier in ids.items():
            said = row[side]
            speaker = said.get("speaker") or said.get("role") or "user"
            if "context" in said:
                name, _, text = said["context"].partition(": ")
                asked = _document(f"{identifier}-context", {**said, "text": text}, identifier, "pairs", name)
                documents.append(asked)
            documents.append(_document(identifier, said, session=identifier, tenant="pairs", speaker=speaker))
        groups[ids["newer"]] = f"pairs-{number % 10}"
        classes[ids["older"], ids["newer"]] = row["class"]
        if "first" in ids:
            classes[ids["first"], ids["newer"]] = REVIVED
    documents.sort(key=lambda document: datetime.fromisoformat(document.timestamp))
    return LabelledSet(
        EvaluationSet("relation-pairs", documents, [], {}), classes, only_pairs=True, groups=groups
    )


def _lines(name: str) -> Iterator[dict[str, Any]]:
    text = files(__package__).joinpath("gold", name).read_text(encoding="utf-8")
    return map(json.loads, text.splitlines())


def _document(identifier: str, row: dict[str, Any], session: str, tenant: str, speaker: str) -> Document:
    return Document(identifier, row["text"], "", row["at"], session, speaker, tenant)
