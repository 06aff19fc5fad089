"""Stage 8 where the caller's profile is packed before the memories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from helix_query.recall.packing.entries import BETWEEN
from helix_query.recall.packing.pack import counter_of, pack
from helix_query.recall.user_profile.build import user_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_query.recall.candidates import Route
    from helix_query.recall.context import RecallContext
    from helix_query.recall.result import Packed, RecalledRow
    from helix_query.recall.user_profile.lines import UserProfile

LARGEST_SHARE: Final = 0.5
"""Share of the token budget that a profile may take: the memories answer the question."""


def pack_with_profile(
    context: RecallContext, rows: Sequence[RecalledRow], route: Route
) -> tuple[Packed, UserProfile | None]:
    """The packed context, and the profile in front of it if the query asks for one.

    The tokens of both together never exceed the budget of the query.

    Raises:
        OverdueError: the deadline of the recall has passed.
    """
    query, encoder, budget = context.query, context.snapshot.encoder, context.token_budget
    counter = counter_of(context)
    if not query.include_profile:
        return pack(context, rows, route, token_budget=budget, counter=counter), None
    profile = user_profile(
        context.snapshot,
        query.selection,
        now=query.clock,
        token_budget=min(context.profile.pack.profile_tokens, int(budget * LARGEST_SHARE)),
        zone=query.zone,
        deadline=context.deadline,
    )
    room = budget - profile.tokens
    while True:
        packed = pack(context, rows, route, token_budget=room, counter=counter)
        text = BETWEEN.join(part for part in (profile.text, packed.text) if part)
        tokens = profile.tokens + packed.tokens
        if not encoder.counts_add_up:
            tokens = encoder.count_tokens(text) if text else 0
        if tokens <= budget or not packed.memory_ids:
            return replace(packed, text=text, tokens=tokens), profile
        room -= max(tokens - budget, 1)
