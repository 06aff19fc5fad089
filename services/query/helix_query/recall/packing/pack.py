"""Stage 8: whole memories into a token budget, the best at both ends, each under its citation.

Models read the two ends of a long context best (Liu et al. 2023, "Lost in the Middle"), hence the order
outside-in: best first, second last, third after the first. An answer about earlier times is in the order of
time instead. A bare question is left out where a packed statement quotes it. Neighbours fill what is left of
the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from helix_query.recall.packing.entries import Block, Entry, TokenCounter, entry_of, mark_of, text_of
from helix_query.recall.packing.neighbour_rows import neighbours_of
from helix_query.recall.packing.neighbours import with_neighbours
from helix_query.recall.packing.quoted_questions import NOTHING, quoted_last, quoting_in
from helix_query.recall.result import Packed

if TYPE_CHECKING:
    from helix_query.recall.candidates import Route
    from helix_query.recall.context import RecallContext
    from helix_query.recall.packing.quoted_questions import Quoting
    from helix_query.recall.result import RecalledRow

Item = TypeVar("Item")
EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


def counter_of(context: RecallContext) -> TokenCounter:
    """A counter by the generation's own tokenizer."""
    encoder = context.snapshot.encoder
    return TokenCounter(encoder.count_tokens, adds_up=encoder.counts_add_up)


def pack(
    context: RecallContext,
    rows: Sequence[RecalledRow],
    route: Route,
    *,
    token_budget: int,
    counter: TokenCounter,
) -> Packed:
    """Stage 8 without a profile; who packs several times gives every call the same `counter`."""
    query, budget = context.query, token_budget
    entries = [entry_of(found.row, query.zone) for found in rows]
    in_time = route.past_question.is_in_words
    quoting = quoting_in([found.row for found in rows], context.profile)
    packed = pack_entries(entries, token_budget=budget, counter=counter, in_time=in_time, quoting=quoting)
    expand_context = query.expand_context or context.profile.pack.expand_context
    if expand_context == "none" or not packed.memory_ids:
        return packed
    neighbours = neighbours_of(
        [found.row for found in rows],
        packed,
        context.visibility.of_current(),
        context.snapshot,
        whole=expand_context == "session",
        room=budget - packed.tokens,
        profile=context.profile,
        already_served=context.already_served.value,
        zone=query.zone,
    )
    return with_neighbours(entries, packed, neighbours, token_budget=budget, counter=counter)


def pack_entries(
    entries: Sequence[Entry],
    *,
    token_budget: int,
    counter: TokenCounter,
    in_time: bool = False,
    quoting: Quoting = NOTHING,
) -> Packed:
    """As many of `entries` (best first) as fit, whole; one that does not fit is passed over.

    They are laid out outside-in, or with `in_time` by the time at which they occurred. The tokens of the
    finished text never exceed `token_budget`. A question of `quoting` is packed last, and only where none of
    its statements fits.
    """
    widest = mark_of(len(entries))
    fitting: list[Entry] = []
    used = 0
    for entry in quoted_last(entries, quoting):
        if used + entry.tokens > token_budget or _is_quoted(entry.memory_id, fitting, quoting):
            continue
        needed = counter.block(widest, entry)
        if used + needed <= token_budget:
            fitting.append(entry)
            used += needed
    # Tokenizers may count a whole differently from its parts; the whole is what the caller pays for.
    while fitting and (tokens := counter.whole(blocks_of(fitting, in_time=in_time))) > token_budget:
        fitting.pop()
    if not fitting:
        return Packed()
    blocks = blocks_of(fitting, in_time=in_time)
    quoted_ids = tuple(question for question in quoting if _is_quoted(question, fitting, quoting))
    return Packed(
        text_of(blocks), tuple(one.entry.memory_id for one in blocks), tokens, quoted_ids=quoted_ids
    )


def _is_quoted(memory_id: str, fitting: Sequence[Entry], quoting: Quoting) -> bool:
    """Whether one of the entries quotes a question."""
    statements = quoting.get(memory_id)
    return statements is not None and any(entry.memory_id in statements for entry in fitting)


def outside_in(items: Sequence[Item]) -> list[Item]:
    """Best at the start, second at the end, third after the first, and so on."""
    return [*items[::2], *reversed(items[1::2])]


def blocks_of(entries: Sequence[Entry], *, in_time: bool = False) -> list[Block]:
    """Memories, best first, in the order of the text, each with its citation."""
    laid_out = sorted(entries, key=_time_of) if in_time else outside_in(entries)
    return [Block(mark_of(number), entry) for number, entry in enumerate(laid_out, start=1)]


def _time_of(entry: Entry) -> datetime:
    return entry.occurred_at or EARLIEST
