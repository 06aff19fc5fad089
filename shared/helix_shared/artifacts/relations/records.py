"""A decided relation as a fixed-size record: two memories by ordinal, kind, probability, evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

RelationKind = Literal["DUPLICATE", "UPDATES", "EXTENDS", "CONTRADICTS", "RELATES"]
RELATION_KINDS: Final[tuple[RelationKind, ...]] = get_args(RelationKind)
"""How a newer memory relates to an older one; the index is stored. Add at the end only."""
DUPLICATE: Final = RELATION_KINDS.index("DUPLICATE")
"""Number of a repetition."""
RELATES: Final = "RELATES"
"""The weakest relation; also the edge of the graph between near-duplicates."""

CLOSES: Final = 1
REVIVES: Final = 2
UNSURE: Final = 4
CLOSABLE: Final = 8
RETRACTS: Final = 16
"""Bits of `flags`: the older memory stops holding; it holds again; a verdict may move the probability; the
rules permit closing, and only the probability does not; the older memory was not meant."""
MOST_EVIDENCE: Final = 6
NO_NAME: Final = 255
"""Number of no evidence; so at most 255 names are stored."""

RELATION: Final = np.dtype(
    [
        ("newer", np.int32),
        ("older", np.int32),
        ("kind", np.uint8),
        ("flags", np.uint8),
        ("probability", np.float32),
        # when the newer memory occurred, in microseconds since 1970
        ("at", np.int64),
        ("names", np.uint8, (MOST_EVIDENCE,)),
        ("values", np.float16, (MOST_EVIDENCE,)),
    ]
)


def revoked_rows(records: NDArray[np.void]) -> NDArray[np.int64]:
    """Rows that later ones revoke, and the later ones, which have probability 0.

    `records` are in the order of decision.
    """
    keys = records["newer"].astype(np.int64) << 32 | records["older"].astype(np.int64)
    is_end = records["probability"] == 0
    ended, found = set[int](), list[int]()
    for row in np.flatnonzero(np.isin(keys, keys[is_end])).tolist()[::-1]:
        if is_end[row]:
            ended.add(int(keys[row]))
        if int(keys[row]) in ended:
            found.append(row)
    return np.array(found[::-1], np.int64)


def graph_edge(kind: RelationKind) -> RelationKind:
    """The graph's edge type of a relation; a repetition is an edge to what it repeats."""
    return RELATES if kind == "DUPLICATE" else kind


@dataclass(frozen=True, slots=True)
class DecidedRelation:
    """One decision about two memories, given by ordinal; `at` is in microseconds since 1970."""

    newer: int
    older: int
    kind: RelationKind
    probability: float
    at: int
    closes: bool = False
    revives: bool = False
    unsure: bool = False
    """A verdict of a language model may move the probability."""
    closable: bool = False
    """The rules permit closing; the probability does not reach."""
    retracts: bool = False
    """The older memory was not meant: its own relations to earlier ones do not count."""
    evidence: Mapping[str, float] = field(default_factory=dict)
    """The strongest values by name; rounded to half precision when stored."""

    @property
    def edge(self) -> str:
        """The graph's edge type."""
        return graph_edge(self.kind)


class EvidenceNames:
    """Names of evidence, numbered in order of first use; those past `NO_NAME` are left out."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = list(names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        """The number of a name; `NO_NAME` when there are too many."""
        if name not in self._numbers:
            if len(self.names) >= NO_NAME:
                return NO_NAME
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]


def encoded(relation: DecidedRelation, names: EvidenceNames) -> tuple[Any, ...]:
    """A record of `RELATION`."""
    strongest = sorted(relation.evidence.items(), key=lambda item: (-abs(item[1]), item[0]))[:MOST_EVIDENCE]
    numbers = [names.number(name) for name, _ in strongest]
    values = [value for _, value in strongest]
    missing = MOST_EVIDENCE - len(strongest)
    return (
        relation.newer,
        relation.older,
        RELATION_KINDS.index(relation.kind),
        CLOSES * relation.closes
        + REVIVES * relation.revives
        + UNSURE * relation.unsure
        + CLOSABLE * relation.closable
        + RETRACTS * relation.retracts,
        relation.probability,
        relation.at,
        numbers + [NO_NAME] * missing,
        np.clip([*values, *[0.0] * missing], -60_000, 60_000),
    )


def decoded(record: np.void, names: Sequence[str]) -> DecidedRelation:
    """The inverse of `encoded`."""
    [relation] = all_decoded(np.array([record], RELATION), names)
    return relation


def all_decoded(records: NDArray[np.void], names: Sequence[str]) -> list[DecidedRelation]:
    """The relations of `records`, by columns: a field of a single record takes as long as a list of it."""
    return [
        DecidedRelation(
            newer=newer,
            older=older,
            kind=RELATION_KINDS[kind],
            probability=probability,
            at=at,
            closes=bool(flags & CLOSES),
            revives=bool(flags & REVIVES),
            unsure=bool(flags & UNSURE),
            closable=bool(flags & CLOSABLE),
            retracts=bool(flags & RETRACTS),
            evidence={
                names[number]: value
                for number, value in zip(numbers, values, strict=True)
                if number < len(names)
            },
        )
        for newer, older, kind, flags, probability, at, numbers, values in zip(
            *(records[name].tolist() for name in RELATION.names or ()), strict=True
        )
    ]
