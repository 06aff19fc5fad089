"""Stage 8b: neighbours of the packed memories into the rest of the budget.

Neighbours of memory [n] go right before it, marked [n-], and right after it, marked [n+], so that its
citation stays the only one of that number. The best memory comes first. No recalled memory gives way, none
is doubled, and the tokens of the finished text never exceed the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from helix_query.recall.packing.entries import Block, mark_of, text_of
from helix_query.recall.result import Packed

if TYPE_CHECKING:
    from helix_query.recall.packing.entries import Entry, TokenCounter

BEFORE: Final = "-"
AFTER: Final = "+"


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What may be packed around one memory, in reading order; no recalled memory is among them.

    `before` and `after` are the whole rest of its session if that may be packed, else empty;
    `previous` and `following` are right beside it.
    """

    memory_id: str
    previous: Entry | None = None
    following: Entry | None = None
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedNeighbours:
    """The neighbours of one memory that fit."""

    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


def with_neighbours(
    entries: Sequence[Entry],
    packed: Packed,
    neighbours: Sequence[Neighbours],
    *,
    token_budget: int,
    counter: TokenCounter,
) -> Packed:
    """`packed` with as many `neighbours` (best memory first) as fit; its memories are among `entries`."""
    by_id = {entry.memory_id: entry for entry in entries}
    numbers = {memory_id: number for number, memory_id in enumerate(packed.memory_ids, start=1)}
    placed: dict[str, PlacedNeighbours] = {}
    room = token_budget - packed.tokens
    for one in neighbours:
        placed[one.memory_id], room = _place(one, numbers[one.memory_id], room=room, counter=counter)
    while any(one.before or one.after for one in placed.values()):
        blocks = _blocks([by_id[memory_id] for memory_id in packed.memory_ids], placed)
        tokens = counter.whole(blocks)
        if tokens <= token_budget:
            surrounding_ids = tuple(one.entry.memory_id for one in blocks if one.is_neighbour)
            return replace(packed, text=text_of(blocks), tokens=tokens, surrounding_ids=surrounding_ids)
        # Only where counts do not add up: the last one placed is taken back first.
        _take_back(placed)
    return packed


def _place(one: Neighbours, number: int, *, room: int, counter: TokenCounter) -> tuple[PlacedNeighbours, int]:
    """The whole session if all of it fits, else what is right beside the memory; and the room left."""
    whole = PlacedNeighbours(one.before, one.after)
    needed = _tokens(whole, number, counter)
    if needed and needed <= room:
        return whole, room - needed
    found = PlacedNeighbours()
    if one.previous is not None and (needed := counter.block(mark_of(number, BEFORE), one.previous)) <= room:
        found, room = replace(found, before=(one.previous,)), room - needed
    if one.following is not None and (needed := counter.block(mark_of(number, AFTER), one.following)) <= room:
        found, room = replace(found, after=(one.following,)), room - needed
    return found, room


def _tokens(placed: PlacedNeighbours, number: int, counter: TokenCounter) -> int:
    sides = ((BEFORE, placed.before), (AFTER, placed.after))
    return sum(counter.block(mark_of(number, sign), entry) for sign, side in sides for entry in side)


def _blocks(memories: Sequence[Entry], placed: dict[str, PlacedNeighbours]) -> list[Block]:
    blocks: list[Block] = []
    for number, entry in enumerate(memories, start=1):
        one = placed.get(entry.memory_id, PlacedNeighbours())
        blocks += [Block(mark_of(number, BEFORE), other, is_neighbour=True) for other in one.before]
        blocks.append(Block(mark_of(number), entry))
        blocks += [Block(mark_of(number, AFTER), other, is_neighbour=True) for other in one.after]
    return blocks


def _take_back(placed: dict[str, PlacedNeighbours]) -> None:
    memory_id, last = next(
        (memory_id, one) for memory_id, one in reversed(placed.items()) if one.before or one.after
    )
    placed[memory_id] = (
        replace(last, after=last.after[:-1]) if last.after else replace(last, before=last.before[1:])
    )
