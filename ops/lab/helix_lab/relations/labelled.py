"""Labelled pairs: a new document, an earlier one, and how the new one relates to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.resources import files
from typing import Any, Final

from helix_lab.sets.data import Document, EvaluationSet
from helix_lab.sets.load import MONTHS, months_timelines, of_timelines
from helix_lab.sets.months.timeline import Timeline, timelines_in

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
_AS_SAID: Final = {
    "extends": EXTENSION,
    "contradicts": CONTRADICTION,
    "repeats": RESTATEMENT,
    "updates": UPDATE,
    "looks-like": LOOK_ALIKE,
}
_FIRST: Final = (UPDATE, REVERSAL, REVIVED, RESTATEMENT, UNJUDGED)
"""Of two turns that share several slots, the class that comes first here is theirs."""


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
    values_only: bool = False
    """The labels tell whose value holds, and nothing sure of repetitions, extensions and contradictions."""


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
    """Short timelines written for this."""
    folder = files(__package__).joinpath("gold", "stories")
    return labelled_timelines("relation-stories", timelines_in(folder))


def months() -> LabelledSet:
    """The timelines of the set `months`; a value said again is seldom the same statement there."""
    return replace(labelled_timelines(MONTHS, months_timelines()), values_only=True)


def labelled_timelines(name: str, timelines: Sequence[Timeline]) -> LabelledSet:
    """Timelines in which every turn names the values it states; relations given as such go first.

    A later other value is an update, or a reversal where it was held before; the same value is a restatement,
    or revived where another was held between. Nothing is known of values only considered.
    """
    classes: dict[tuple[str, str], str] = {}
    for told in timelines:
        classes.update({(one.older, one.newer): _AS_SAID[one.kind] for one in told.relations})
        stated: dict[str, list[tuple[str, str]]] = {}
        for turn in told.turns:
            found: dict[str, list[str]] = {}
            for slot, value in turn.values.items():
                before = stated.setdefault(slot, [])
                held = [other for _, other in before]
                for at, (older, _) in enumerate(before):
                    found.setdefault(older, []).append(_by_values(held, at, value))
                before.append((turn.id, value))
            for older, kinds in found.items():
                classes.setdefault((older, turn.id), min(kinds, key=_FIRST.index))
    return LabelledSet(of_timelines(name, timelines), classes)


def _by_values(held: Sequence[str], at: int, value: str) -> str:
    """Class of the pair of a new value of a slot and its earlier value `held[at]`."""
    if value == held[at]:
        changed = any(other != value and not other.endswith("?") for other in held[at + 1 :])
        return REVIVED if changed else RESTATEMENT
    if value.endswith("?") or held[at].endswith("?"):
        return UNJUDGED
    return REVERSAL if value in held[:at] else UPDATE


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
