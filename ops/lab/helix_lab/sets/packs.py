"""Which documents are inside the packed context at other token budgets than that of the recall.

Stage 8 runs again over the same rows. A smaller pack need not be part of a larger one: a memory that is too
long for the small budget leaves its room to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_query.recall.packing.pack import counter_of, pack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix_query.recall.context import RecallContext
    from helix_query.recall.packing.entries import TokenCounter
    from helix_query.recall.result import Packed, RecallResult

BUDGETS: Final = (500, 1_000, 2_000)
"""Token budgets at which evidence is measured."""


def documents_within(
    context: RecallContext, result: RecallResult, names: Mapping[str, str]
) -> dict[int, tuple[str, ...]]:
    """Documents (`names` by event id) whose text the context of each of `BUDGETS` holds.

    What is packed around a memory counts too, and a question that a packed statement quotes. None at any
    budget where the recall packed nothing.
    """
    if not result.packed.memory_ids:
        return dict.fromkeys(BUDGETS, ())
    events = {found.row["memory_id"]: str(found.row["event_id"]) for found in result.rows}
    counter = counter_of(context)
    packs = {budget: _pack(context, result, budget, counter) for budget in BUDGETS}
    around = {one for packed in packs.values() for one in packed.surrounding_ids} - events.keys()
    if around:
        table = context.generation.vectors.find(sorted(around), ["memory_id", "event_id"])
        events |= {row["memory_id"]: row["event_id"] for row in table.to_pylist()}
    return {
        budget: tuple(
            dict.fromkeys(
                names[events[one]]
                for one in (*packed.memory_ids, *packed.quoted_ids, *packed.surrounding_ids)
            )
        )
        for budget, packed in packs.items()
    }


def _pack(context: RecallContext, result: RecallResult, budget: int, counter: TokenCounter) -> Packed:
    if budget == context.token_budget:
        return result.packed
    return pack(context, result.rows, result.route, token_budget=budget, counter=counter)
