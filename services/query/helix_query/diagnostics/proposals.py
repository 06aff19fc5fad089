"""The changes that may undo a loss, smallest first; `why_not` tries them.

A proposal is a tuple of changes that are made together. Nothing here runs the query.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from google.protobuf import json_format  # type: ignore[import-untyped] # stubs are a namespace package

from helix_memory import limits
from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.channel_rank import ChannelRank, channel_ranks
from helix_query.diagnostics.explanation import Loss
from helix_query.profile.overrides import constant
from helix_query.profile.sections.search import MAX_CANDIDATES
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.context import RecallContext
from helix_query.recall.packing.entries import TokenCounter, budget_for, entry_of
from helix_query.recall.packing.quoted_questions import quoted_last, quoting_in
from helix_query.recall.stages.diversify import diversify, without_already_served
from helix_shared.artifacts.filter.filters import EventTime, Sessions

if TYPE_CHECKING:
    from helix_query.diagnostics.replay import Replay

Proposal = tuple[recall_pb2.Change, ...]

LIKELY_STEP: Final = 0.0001
"""Step by which the threshold of abstention is lowered."""
DUPLICATE_MARGIN: Final = 0.001
"""A near-duplicate threshold is raised by this much above the similarity."""
NO_DUPLICATES: Final = 1.01
"""Near-duplicate threshold above every similarity."""
THRESHOLD_SHARES: Final = (0.999, 0.9, 0.5, 0.0)
"""Shares of a memory's score that are tried as threshold; other changes may move the score a little."""
SPARE_TOKENS: Final = (0, 8, 64)
"""Tokens added to the needed budget: a context may have more tokens than the sum of its parts."""


def proposals(replay: Replay) -> Iterator[Proposal]:
    """Changes that may undo the loss of `replay`, smallest first; empty if there is no loss.

    A memory in `already_served` is always dropped, so each proposal also removes it from there.
    """
    served_already = replay.row["memory_id"] in replay.query.already_served
    unserved = _unserved(replay) if served_already else ()
    for proposal in _BY_LOSS[replay.loss](replay):
        yield (*unserved, *proposal)


def field_change(replay: Replay, path: str, value: Any) -> recall_pb2.Change:
    """A change of a request field; None clears it."""
    was: Any = json_format.MessageToDict(replay.request, preserving_proto_field_name=True)
    for name in path.split("."):
        was = was.get(name) if isinstance(was, dict) else None
    return recall_pb2.Change(request_field=path, value=json.dumps(value), was=json.dumps(was))


def constant_change(replay: Replay, key: str, value: Any) -> recall_pb2.Change:
    """A change of a profile constant."""
    was = constant(replay.profile, key, mode="json")
    return recall_pb2.Change(profile_key=key, value=json.dumps(value), was=json.dumps(was))


def _none(_replay: Replay) -> Iterator[Proposal]:
    yield from ()


def _filter(replay: Replay) -> Iterator[Proposal]:
    fields = replay.query.selection.excluding(replay.row)
    yield tuple(field_change(replay, name, None) for name in fields)


def _skipped(replay: Replay) -> Iterator[Proposal]:
    yield (field_change(replay, "never_skip", value=True),)


def _not_retrieved(replay: Replay) -> Iterator[Proposal]:
    """Search more channels, then more candidates, then a narrower filter."""
    if replay.kept_explanation is not None and replay.explanation.trace.retrieved.lexical_alone:
        yield from _with_dense(replay)
    ranks = sorted(
        (
            one
            for one in channel_ranks(replay.context, replay.result.route, replay.row["ordinal"])
            if one.rank
        ),
        key=_effort,
    )
    for found in ranks:
        if found.rank <= MAX_CANDIDATES:
            yield from _asked_deeper(replay, found)
    yield from _narrower(replay)


def _effort(found: ChannelRank) -> tuple[bool, float]:
    return not found.is_searched, found.rank / found.limit


def _with_dense(replay: Replay) -> Iterator[Proposal]:
    """Mode hybrid in place of auto, which searched the lexicon alone."""
    if replay.query.mode == "auto":
        yield (field_change(replay, "mode", "MODE_HYBRID"),)


def _asked_deeper(replay: Replay, found: ChannelRank) -> Iterator[Proposal]:
    if not found.is_searched and replay.query.mode == "dense":
        channel_change: Proposal = (field_change(replay, "mode", "MODE_HYBRID"),)
    elif not found.is_searched:
        channels = [*replay.profile.retrieve.channels, found.channel]
        channel_change = (constant_change(replay, "retrieve.channels", channels),)
    else:
        channel_change = ()
    if channel_change and found.rank <= found.limit:
        yield channel_change
    # with a greater limit a vector index may find other candidates too, so more than the rank is tried
    deeper = (found.rank, min(math.ceil(1.5 * found.rank), MAX_CANDIDATES), MAX_CANDIDATES)
    for limit in dict.fromkeys(deeper):
        if limit > found.limit:
            yield (*channel_change, *_limited(replay, found.channel, limit))


def _limited(replay: Replay, channel: str, limit: int) -> Proposal:
    """Limit of a channel; removes a multiple of top_k that would override it."""
    multiples = {str(name): value for name, value in replay.profile.retrieve.per_top_k.items()}
    changes = [constant_change(replay, f"retrieve.limits.{channel}", limit)]
    if multiples.pop(channel, None) is not None:
        changes.append(constant_change(replay, "retrieve.per_top_k", multiples))
    return tuple(changes)


def _narrower(replay: Replay) -> Iterator[Proposal]:
    """A filter for its session, or for its event time."""
    row, selection = replay.row, replay.query.selection
    if row["session_id"] and Sessions((row["session_id"],)) not in selection.filters:
        yield (field_change(replay, "filter.session_ids", [row["session_id"]]),)
    start, end = row["event_at"], row["event_at"] + timedelta(microseconds=1)
    if EventTime(start, end) not in selection.filters:
        yield (
            field_change(replay, "filter.event_after", _timestamp(start)),
            field_change(replay, "filter.event_before", _timestamp(end)),
        )


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _threshold(replay: Replay) -> Iterator[Proposal]:
    explanation, scoring = replay.explanation, replay.explanation.scoring
    held = scoring.relevance.values if explanation.threshold_on == "relevance" else scoring.scores
    own = max(float(held[_position(replay)]), 0.0)
    for slack in THRESHOLD_SHARES:
        yield (constant_change(replay, "rank.recipe.threshold", _floored(slack * own)),)


def _floored(value: float) -> float:
    """Rounded down to three digits, so that decay between two recalls does not matter."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.floor(value / unit) * unit:.3g}")


def _top_k(replay: Replay) -> Iterator[Proposal]:
    """A greater top_k, up to its limit; then a narrower filter or other weights."""
    # a near-duplicate has no rank even then, only a position by score
    place = _rank_at_greatest_top_k(replay) or _position_by_score(replay)
    if place:
        more = (place, math.ceil(1.25 * place), limits.TOP_K)
        for count in dict.fromkeys(min(one, limits.TOP_K) for one in more):
            if count > replay.context.top_k:
                yield (field_change(replay, "top_k", count),)
    yield from _narrower(replay)
    yield from _other_weights(replay)


def _rank_at_greatest_top_k(replay: Replay) -> int:
    """Its rank with the greatest top_k that a request may have; 0: not in the answer even then."""
    trace = replay.explanation.trace
    others = tuple(one for one in replay.query.already_served if one != replay.row["memory_id"])
    most = replace(replay.query, top_k=limits.TOP_K, already_served=others)
    context = RecallContext.of(most, replay.context.snapshot, replay.profile)
    diverse = diversify(context, trace.ranked, trace.candidates, trace.route)
    chosen, _ = without_already_served(context, diverse, trace.candidates)
    rows = np.flatnonzero(chosen.positions == replay.position)
    return int(rows[0]) + 1 if len(rows) else 0


def _position_by_score(replay: Replay) -> int:
    return int(replay.explanation.places[_position(replay)])


def _other_weights(replay: Replay) -> Iterator[Proposal]:
    """No comparison that lowered the score; the weight of one channel 1, of the other 0."""
    late = replay.explanation.scoring.interaction_gains
    if late is not None and late.gains[_position(replay)] < 0:
        yield (constant_change(replay, "rerank.candidates", 0),)
    cross = replay.explanation.scoring.cross_gains
    if cross is not None and cross.gains[_position(replay)] < 0:
        yield (constant_change(replay, "rerank.cross_encoder.model", ""),)
    fuse = replay.profile.fuse
    others: list[tuple[str, Any]] = [("fuse.by_intent", {})] if fuse.by_intent else []
    others += [("fuse.adaptive", None)] if fuse.adaptive is not None else []
    for first, second in ((DENSE, LEXICAL), (LEXICAL, DENSE)):
        values = [(f"fuse.weights.{first}", 1.0), (f"fuse.weights.{second}", 0.0), *others]
        yield tuple(constant_change(replay, key, value) for key, value in values)


def _near_duplicate(replay: Replay) -> Iterator[Proposal]:
    similarity = replay.explanation.duplicates[_position(replay)].similarity
    above = math.floor(similarity / DUPLICATE_MARGIN + 1.0) * DUPLICATE_MARGIN
    yield (constant_change(replay, "diversify.near_duplicate", min(round(above, 3), NO_DUPLICATES)),)
    yield (constant_change(replay, "diversify.near_duplicate", NO_DUPLICATES),)


def _switched_off(key: str) -> Callable[[Replay], Iterator[Proposal]]:
    """Proposes that the constant `key`, which leaves out what another memory says, is off."""

    def proposal(replay: Replay) -> Iterator[Proposal]:
        yield (constant_change(replay, key, value=False),)

    return proposal


def _already_served(replay: Replay) -> Iterator[Proposal]:
    """Only the removal from `already_served`; then a greater top_k as well."""
    yield ()
    place = min(_rank_at_greatest_top_k(replay), limits.TOP_K)
    if place > replay.context.top_k:
        yield (field_change(replay, "top_k", place),)


def _unserved(replay: Replay) -> Proposal:
    left = [one for one in replay.query.already_served if one != replay.row["memory_id"]]
    return (field_change(replay, "already_served", left or None),)


def _abstained(replay: Replay) -> Iterator[Proposal]:
    """A threshold just below the relevance of the answer."""
    estimate = replay.result.estimate
    likely = 0.0 if estimate is None or estimate.answer is None else estimate.answer
    lower = math.floor(likely / LIKELY_STEP) * LIKELY_STEP
    yield (constant_change(replay, "abstain.threshold", round(lower, 4)),)


def _token_budget(replay: Replay) -> Iterator[Proposal]:
    needed = tokens_needed(replay)
    for spare in SPARE_TOKENS:
        if replay.context.token_budget < needed + spare <= limits.TOKEN_BUDGET:
            yield (field_change(replay, "token_budget", needed + spare),)


def tokens_needed(replay: Replay) -> int:
    """Budget with which the memory is packed after all better ones that fit."""
    encoder, rows = replay.context.snapshot.encoder, [found.row for found in replay.result.rows]
    entries = (entry_of(row, replay.query.zone) for row in rows)
    return budget_for(
        replay.row["memory_id"],
        quoted_last(entries, quoting_in(rows, replay.profile)),
        token_budget=replay.context.token_budget,
        counter=TokenCounter(encoder.count_tokens, adds_up=encoder.counts_add_up),
    )


def _position(replay: Replay) -> int:
    if replay.position is None:
        raise AssertionError("the memory is not a candidate")
    return replay.position


_BY_LOSS: Final[Mapping[Loss, Callable[[Replay], Iterator[Proposal]]]] = {
    Loss.NONE: _none,
    Loss.DECAYED: _none,
    Loss.FILTER: _filter,
    Loss.SKIPPED: _skipped,
    Loss.NOT_RETRIEVED: _not_retrieved,
    Loss.THRESHOLD: _threshold,
    Loss.NOT_AMONG_BEST: _top_k,
    Loss.NEAR_DUPLICATE: _near_duplicate,
    Loss.SAME_TURN: _switched_off("diversify.one_per_turn"),
    Loss.RESTATEMENT: _switched_off("diversify.one_per_statement"),
    Loss.TOP_K: _top_k,
    Loss.ALREADY_SERVED: _already_served,
    Loss.ABSTAINED: _abstained,
    Loss.TOKEN_BUDGET: _token_budget,
    Loss.QUOTED: _switched_off("pack.leave_out_quoted"),
}
