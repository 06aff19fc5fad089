"""Fills the reply to WhyNot: numbers, and the verdict in a sentence or two."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from helix_memory import limits
from helix_memory.explanation import CROSS_ENCODER, LATE_INTERACTION
from helix_memory.recall.v1 import recall_pb2
from helix_query.api.responses.explanation import CandidateMessages
from helix_query.diagnostics.channel_rank import SEARCH_DEPTH, channel_ranks
from helix_query.diagnostics.explanation import STAGES, Loss
from helix_query.diagnostics.proposals import tokens_needed
from helix_query.recall.evidence.cross_encoding import DEGRADED_CROSS_ENCODER
from helix_query.recall.packing.entries import quoted
from helix_query.recall.packing.quoted_questions import quoting_in

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from helix_query.diagnostics.hidden_memory import Hidden
    from helix_query.diagnostics.replay import Replay, WhyNot
    from helix_query.generations.snapshot import Snapshot

Reply = recall_pb2.WhyNotResponse


def why_not_response(found: WhyNot, snapshot: Snapshot) -> Reply:
    """The reply to WhyNot."""
    first = found.first
    loss, position = first.loss, first.position
    reply = Reply(
        loss=recall_pb2.Loss.Value(f"LOSS_{loss.name}"),
        stage=STAGES[loss],
        candidate=None if position is None else CandidateMessages(first.explanation).of(position),
        changes=found.changes,
        replays=found.replays,
        generation=snapshot.number,
    )
    reply.verdict = _BY_LOSS[loss](reply, first)
    reply.advice = _advice(found) if loss is not Loss.NONE else ""
    return reply


def hidden_response(hidden: Hidden, memory_id: str, snapshot: Snapshot, zone: tzinfo) -> Reply:
    """The reply for a memory that no recall of the present returns: nothing was asked again."""
    state = hidden.state
    if hidden.loss in (Loss.FORGOTTEN, Loss.ERASED):
        by = f"{_time_text(state['deleted_at'], zone)} by the event with sequence {state['deleted_by']}"
        if hidden.loss is Loss.FORGOTTEN:
            verdict = f"It was forgotten {by}."
            advice = f"`helix memory restore {memory_id}`, a forget event with restore, shows it again."
        else:
            verdict = f"It was erased {by}, and is removed when every earlier event is processed."
            advice = "An erasure cannot be taken back."
    elif hidden.loss is Loss.REPLACED:
        since = f" {_time_text(state['closed_at'], zone)}" if state["closed_at"] else ""
        verdict = f"It no longer holds: {_replacement_text(hidden.replacement)} replaced it{since}."
        advice = (
            "To bring it in, ask for the former value in words, or recall with valid_at before that time."
        )
    else:
        verdict = "It is not valid now, or its document has another version."
        advice = "To bring it in, recall with valid_at or as_of at a time when it was valid."
    if hidden.expired_at is not None:
        # valid_at asks what is known now of an earlier time, and an expired memory is known no longer
        expired = f"It expired {_time_text(hidden.expired_at, zone)}."
        verdict = expired if hidden.loss is Loss.NOT_VALID else f"{verdict} {expired}"
        advice = "To bring it in, recall with as_of at a time when it was valid."
    return Reply(
        loss=recall_pb2.Loss.Value(f"LOSS_{hidden.loss.name}"),
        stage=STAGES[hidden.loss],
        verdict=verdict,
        advice=advice,
        generation=snapshot.number,
    )


def _replacement_text(replacement: Mapping[str, Any] | None) -> str:
    """Id and quote of a replacement; no quote of a flagged one, nothing of one the caller may not see."""
    if replacement is None:
        return "another memory"
    quote = "flagged" if replacement["flags"] else quoted(replacement["text"])
    return f"{replacement['memory_id']} ({quote})"


def _time_text(moment: datetime, zone: tzinfo) -> str:
    return f"on {moment.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def _advice(found: WhyNot) -> str:
    """The changes as a sentence."""
    changes = found.changes
    if not changes:
        within = " in the available time" if found.exhausted else ""
        return f"No change of the request or of a profile constant was found that brings it in{within}."
    fields = [_field_text(change) for change in changes if change.request_field]
    constants = [f"{change.profile_key} = {change.value}" for change in changes if change.profile_key]
    parts = [f"recall {_joined(fields)}"] if fields else []
    parts += [f"set {_joined(constants)} in the ranking profile"] if constants else []
    return f"To bring it in, {' and '.join(parts)}."


def _field_text(change: recall_pb2.Change) -> str:
    if change.value == "null":
        return f"without {change.request_field}"
    if change.request_field == "already_served":
        return "without it in already_served"
    return f"with {change.request_field} = {change.value}"


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _packed(reply: Reply, _first: Replay) -> str:
    return f"It is in the answer at rank {reply.candidate.rank}, and packed."


def _skipped(_reply: Reply, first: Replay) -> str:
    return f"The router found that the query needs no memory ({first.result.route.reason})."


def _decayed(_reply: Reply, first: Replay) -> str:
    return (
        f"Decay hides it since {first.row['decayed_at']:%Y-%m-%d}: it is weak, old and unused. Reading it by "
        "id, helpful feedback, or a forget event with restore shows it again."
    )


def _filter(reply: Reply, first: Replay) -> str:
    selection, zone = first.query.selection, first.query.zone or UTC
    excluding = [one for one in selection.filters if one.excluding(first.row)]
    fields = selection.excluding(first.row)
    reply.filter_fields.extend(fields)
    has = _joined([one.shown(first.row, zone) for one in excluding])
    return f"The filter of the request excludes it by {_joined(fields)}: it has {has}."


def _not_retrieved(reply: Reply, first: Replay) -> str:
    found = channel_ranks(first.context, first.result.route, first.row["ordinal"])
    reply.channel_ranks.extend(
        recall_pb2.ChannelRank(
            channel=one.channel,
            rank=one.rank,
            score=one.score,
            limit=one.limit,
            searched=SEARCH_DEPTH,
            least_score=one.least_score,
        )
        for one in found
    )
    late = first.explanation.trace.retrieved.degraded
    missing = f" {_joined(late)} failed or came too late." if late else ""
    ranks = "; ".join(
        f"{one.channel} {_rank(one.rank, one.score, one.limit, one.least_score, is_searched=one.is_searched)}"
        for one in found
    )
    return f"No channel found it.{missing} In a deeper search: {ranks}."


def _rank(rank: int, score: float, limit: int, least: float | None, *, is_searched: bool) -> str:
    if not is_searched:
        return f"was not searched; it has it at rank {rank}" if rank else "was not searched; it lacks it"
    if not rank:
        return f"lacks it in its first {SEARCH_DEPTH:,} (score {score:.3f})"
    missed = f", the last of which has {least:.3f}" if least is not None else ""
    return f"has it at rank {rank} with {score:.3f}, {max(rank - limit, 0)} beyond its {limit}{missed}"


def _threshold(reply: Reply, first: Replay) -> str:
    explanation, candidate = first.explanation, reply.candidate
    of_relevance = explanation.threshold_on == "relevance"
    held = candidate.relevance if of_relevance else candidate.score
    reply.needed_score = explanation.threshold
    lacking = explanation.threshold - held
    return (
        f"Its {explanation.threshold_on} {held:.4f} is {lacking:.4f} below the threshold "
        f"{explanation.threshold:g} of the ranking profile {first.profile.name}."
    )


def _not_among_best(reply: Reply, first: Replay) -> str:
    return f"{_by_score(reply, first)} It is not among the best, which are compared for duplicates."


def _top_k(reply: Reply, first: Replay) -> str:
    return _by_score(reply, first)


def _by_score(reply: Reply, first: Replay) -> str:
    candidate, chosen = reply.candidate, first.explanation.trace.chosen
    place = f"place {candidate.place} by score ({candidate.score:.4f})"
    verdict = f"It is at {place}, and top_k is {first.context.top_k}.{_comparisons(candidate)}"
    if DEGRADED_CROSS_ENCODER in first.result.degraded:
        verdict += " The cross-encoder had no time to compare."
    if not len(chosen):
        return verdict
    reply.needed_score = float(chosen.scores.min())
    lacking = reply.needed_score - candidate.score
    if lacking <= 0:
        return f"{verdict} Others were preferred for diversity, not for their score."
    return f"{verdict} The lowest score in the answer is {reply.needed_score:.4f}, {lacking:.4f} more."


def _comparisons(candidate: recall_pb2.Candidate) -> str:
    """The effect of comparisons with the query on its score; empty: there was none."""
    found = []
    for name, subject in ((LATE_INTERACTION, "Late interaction"), (CROSS_ENCODER, "The cross-encoder")):
        gain = next((step.value for step in candidate.steps if step.name == name), 0.0)
        if gain:
            said = f"added {gain:.4f} to" if gain > 0 else f"took {-gain:.4f} from"
            found.append(f" {subject} {said} its score.")
    return "".join(found)


def _near_duplicate(reply: Reply, first: Replay) -> str:
    candidate = reply.candidate
    return (
        f"It is a near-duplicate of the better memory {candidate.duplicate_of or 'withheld'}: similarity "
        f"{candidate.similarity:.3f}; the profile keeps one of two from "
        f"{first.profile.diversify.near_duplicate:g} on."
    )


def _same_turn(reply: Reply, _first: Replay) -> str:
    statement = reply.candidate.duplicate_of or "withheld"
    return f"The statement {statement}, derived from this turn, takes its place."


def _restatement(reply: Reply, _first: Replay) -> str:
    other = reply.candidate.duplicate_of or "withheld"
    return f"It says the same as the better memory {other}, as was decided when the later one arrived."


def _already_served(_reply: Reply, _first: Replay) -> str:
    return "The request names it in already_served."


def _abstained(reply: Reply, first: Replay) -> str:
    estimate = first.result.estimate
    reason = "" if estimate is None else estimate.reason
    return f"It is in the answer at rank {reply.candidate.rank}, but nothing was packed: {reason}."


def _token_budget(reply: Reply, first: Replay) -> str:
    budget, needed = first.context.token_budget, tokens_needed(first)
    verdict = f"It is in the answer at rank {reply.candidate.rank}, but not in the packed context:"
    widened: Any = next((one for one in reply.changes if one.request_field == "token_budget"), None)
    reply.needed_tokens = max(needed, 0 if widened is None else json.loads(widened.value))
    short = f"{reply.needed_tokens - budget} tokens short of {reply.needed_tokens}"
    most = limits.TOKEN_BUDGET
    beyond = f", more than a request may ask for ({most:,})" if needed > most else ""
    return f"{verdict} the budget of {budget} is {short}{beyond}."


def _quoted(reply: Reply, first: Replay) -> str:
    rows = [found.row for found in first.result.rows]
    statements = quoting_in(rows, first.profile)[first.row["memory_id"]]
    by = next(one for one in first.result.packed.memory_ids if one in statements)
    rank = reply.candidate.rank
    return f"It is in the answer at rank {rank}, and the packed statement {by} quotes it with its answer."


_BY_LOSS: Final[Mapping[Loss, Callable[[Reply, Replay], str]]] = {
    Loss.NONE: _packed,
    Loss.SKIPPED: _skipped,
    Loss.FILTER: _filter,
    Loss.DECAYED: _decayed,
    Loss.NOT_RETRIEVED: _not_retrieved,
    Loss.THRESHOLD: _threshold,
    Loss.NOT_AMONG_BEST: _not_among_best,
    Loss.NEAR_DUPLICATE: _near_duplicate,
    Loss.SAME_TURN: _same_turn,
    Loss.RESTATEMENT: _restatement,
    Loss.TOP_K: _top_k,
    Loss.ALREADY_SERVED: _already_served,
    Loss.ABSTAINED: _abstained,
    Loss.TOKEN_BUDGET: _token_budget,
    Loss.QUOTED: _quoted,
}
