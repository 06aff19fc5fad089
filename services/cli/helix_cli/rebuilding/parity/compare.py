"""Compares two generations of the same log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_cli.rebuilding.parity.columns import compare_columns
from helix_cli.rebuilding.parity.erased import decided_beside
from helix_cli.rebuilding.parity.links import Labels, compare_links, compare_relations
from helix_cli.rebuilding.parity.result import Parity, Section
from helix_shared.artifacts.signals.reader import NO_ROW
from helix_shared.edges import FIRST_STATEMENT_PIECE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from helix_shared.artifacts.generation.reader import Generation

MEMORIES: Final = "memories"
_NOTE_STATEMENTS: Final = (
    "{} statements of a language model are left out: extract draws them again from its answers"
)


def compare(
    before: Generation,
    after: Generation,
    parity: Parity,
    *,
    unfinished: Iterable[int] = (),
    erased: Sequence[tuple[int, int]] = (),
) -> None:
    """Fill `parity` with what differs in the memories of events up to `parity.up_to`.

    Memories of the events `unfinished` are left out, and statements that a language model drew. `erased` has
    the spans of events in which decisions may rest on what is erased since.
    """
    old, new = (_Rows.of(one, parity.up_to, frozenset(unfinished)) for one in (before, after))
    ids = [memory_id for memory_id in old.places if memory_id in new.places]
    places = np.array([(old.places[one], new.places[one]) for one in ids], np.int64).reshape(-1, 2)
    parity.missing = len(old.places.keys() - new.places.keys())
    sides = (before, after)
    names = (
        dict(zip(places[:, 0].tolist(), ids, strict=True)),
        dict(zip(places[:, 1].tolist(), ids, strict=True)),
    )
    labels = (Labels(before, names[0]), Labels(after, names[1]))
    relations, ends = compare_relations(sides, names, ids, places, decided_beside(erased, old.events))
    touched = {old.events[one] for one in ends}
    explained = {one for one in ids if old.events[one] in touched}
    same_model = before.manifest.model == after.manifest.model
    parity.sections = [
        _compare_ids(old, new),
        *compare_columns(before, after, places, same_model=same_model, explained=explained),
        compare_links(sides, labels, ids, places, explained),
        relations,
    ]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The memories of one generation."""

    places: Mapping[str, int]
    """Ordinal of every id that is compared."""
    events: Mapping[str, int]
    """Sequence of the event of each."""
    statements: int

    @classmethod
    def of(cls, generation: Generation, up_to: int, unfinished: frozenset[int]) -> _Rows:
        ordinals = np.flatnonzero(generation.signals.rows != NO_ROW)
        rows = generation.vectors.take(ordinals, ("memory_id", "stream_sequence", "piece"))
        found: NDArray[np.int64] = rows["ordinal"].to_numpy()
        ids = dict(zip(found.tolist(), rows["memory_id"].to_pylist(), strict=True))
        events, pieces = rows["stream_sequence"].to_numpy(), rows["piece"].to_numpy()
        drawn = pieces >= FIRST_STATEMENT_PIECE
        wanted = (events <= up_to) & ~drawn & ~np.isin(events, np.array(sorted(unfinished), np.int64))
        places = {ids[one]: one for one in found[wanted].tolist()}
        return cls(places, dict(zip(places, events[wanted].tolist(), strict=True)), int(drawn.sum()))


def _compare_ids(old: _Rows, new: _Rows) -> Section:
    section = Section(MEMORIES, compared=len(old.places.keys() | new.places.keys()))
    sides: Any = ((old, new, "there", "missing"), (new, old, "missing", "there"))
    for one, other, before, after in sides:
        lacking = [memory_id for memory_id in one.places if memory_id not in other.places]
        section.different += len(lacking)
        for memory_id in lacking:
            section.example(memory_id, "memory", before, after)
    if old.statements:
        section.note = _NOTE_STATEMENTS.format(old.statements)
    return section
