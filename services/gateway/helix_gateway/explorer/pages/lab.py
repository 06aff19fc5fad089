"""Recall lab: a question under two ranking profiles, every score taken apart, and why a memory is missing."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.explorer.asked import memory_id
from helix_gateway.explorer.pages.scores import Score, score_of
from helix_gateway.explorer.rendering import url
from helix_memory import limits
from helix_memory.client.results import Memory
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix_gateway.explorer.asked import Asked

PROFILES: Final = ("helix", "helix-reference", "cems", "engram")
"""Ranking profiles that every server has."""
TAKEN_APART: Final = 10
"""Candidates of each side whose scores are taken apart, unless more are asked for."""
MORE_APART: Final = 50
LISTED: Final = 100
"""Candidates of each side that are listed where all are asked for."""
TOP_K: Final = 10
SIDES: Final = ("a", "b")
"""Parameters of this page that name the ranking profiles."""
REQUEST_FIELDS: Final = {"top_k": "k", "query": "q", "never_skip": "never_skip"}
"""Other parameters by the fields of a request that a proposal may change."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A stage in the waterfall: where it begins and how long it took, as shares of the whole."""

    stage: str
    milliseconds: float
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Side:
    """The answer under one ranking profile."""

    name: str
    """The parameter of the page that names its profile: a or b."""
    profile: str
    reply: recall_pb2.RecallResponse
    bars: Sequence[Bar]
    scores: Sequence[Score]
    others: Sequence[recall_pb2.Candidate]
    """Candidates that are listed, and not taken apart."""
    left_out: int
    """How many candidates are not listed."""
    other: str
    """The ranking profile of the other side; its own where there is no other."""
    ranks_of_other: Mapping[str, int]
    """Ranks in the answer of the other side."""


async def build(asked: Asked) -> dict[str, Any]:
    """Both answers, asked at once; nothing counts as served."""
    kept = _kept(asked)
    sides: list[Side] = []
    if kept["q"]:
        used = [name for name in SIDES if kept[name]]
        explained = LISTED if kept["all"] else kept["apart"] or TAKEN_APART
        calls = (
            asked.helix.explain(kept["q"], explained_candidates=explained, **_options(asked, kept, name))
            for name in used
        )
        replies = await asyncio.gather(*calls)
        ranks = [{one.memory.memory_id: one.rank for one in reply.memories} for reply in replies]
        sides = [
            _side(name, kept, reply, kept[used[number - 1]], ranks[number - 1])
            for number, (name, reply) in enumerate(zip(used, replies, strict=True))
        ]
    return {
        "title": "Recall lab",
        "kept": kept,
        "profiles": PROFILES,
        "sides": sides,
        "listed": LISTED,
        "more_apart": MORE_APART if (kept["apart"] or TAKEN_APART) < MORE_APART else 0,
        "missing": memory_id("missing", asked.text("missing")) if asked.text("missing") else "",
    }


async def why_not(asked: Asked) -> dict[str, Any]:
    """Why a memory is not in the answer, and the change that would bring it in."""
    kept = _kept(asked)
    side = "b" if asked.text("side") == "b" and kept["b"] else "a"
    found, memory = await asyncio.gather(
        asked.helix.why_not(asked.memory_id, kept["q"], **_options(asked, kept, side)), _memory(asked)
    )
    candidate = found.candidate if found.HasField("candidate") else None
    return {
        "title": "Why not",
        "question": kept["q"],
        "profile": kept[side],
        "memory": memory,
        "found": found,
        "loss": recall_pb2.Loss.Name(found.loss).removeprefix("LOSS_").lower().replace("_", " "),
        "needed": found.needed_score if found.HasField("needed_score") else None,
        "score": None if candidate is None else score_of(candidate),
        "try_url": _try(found.changes, kept, side),
        "back": url("/lab", **kept),
    }


async def _memory(asked: Asked) -> Memory | None:
    """The memory, from its history, which counts as no read and has replaced ones; None: it was forgotten."""
    try:
        history = await asked.helix.history(asked.memory_id)
    except NotFoundError:
        return None
    found = [one for one in history.memories if one.memory_id == asked.memory_id]
    return Memory.of(found[0]) if found else None


def waterfall(stages: Sequence[recall_pb2.StageTime], total: float) -> list[Bar]:
    """One bar for each stage, one after the other."""
    whole = max(total, sum(one.milliseconds for one in stages)) or 1.0
    bars, start = [], 0.0
    for one in stages:
        bars.append(Bar(one.stage, one.milliseconds, start / whole, one.milliseconds / whole))
        start += one.milliseconds
    return bars


def _kept(asked: Asked) -> dict[str, Any]:
    """The parameters of the lab, which every link inside it keeps."""
    return {
        "q": asked.text("q"),
        "a": asked.text("a") or PROFILES[0],
        "b": asked.text("b"),
        "k": asked.number("k", TOP_K, (1, limits.TOP_K)),
        "apart": asked.number("apart", TAKEN_APART, (1, LISTED)) if asked.text("apart") else "",
        "all": "1" if asked.text("all") else "",
        "as_of": asked.text("as_of"),
        "never_skip": "1" if asked.text("never_skip") else "",
    }


def _options(asked: Asked, kept: Mapping[str, Any], side: str) -> dict[str, Any]:
    """Those of a call for one side."""
    given = {"as_of": asked.moment("as_of"), "never_skip": bool(kept["never_skip"])}
    return {"top_k": kept["k"], "ranking_profile": kept[side]} | {
        name: value for name, value in given.items() if value
    }


def _side(
    name: str,
    kept: Mapping[str, Any],
    reply: recall_pb2.RecallResponse,
    other: str,
    ranks_of_other: Mapping[str, int],
) -> Side:
    candidates = list(reply.explanation.candidates)
    count = kept["apart"] or TAKEN_APART
    apart, rest = candidates[:count], candidates[count:LISTED]
    return Side(
        name,
        kept[name],
        reply,
        waterfall(reply.stages, reply.total_milliseconds),
        [score_of(one) for one in apart],
        rest,
        max(0, reply.explanation.candidate_count - len(apart) - len(rest)),
        other,
        ranks_of_other,
    )


def _try(changes: Sequence[recall_pb2.Change], kept: Mapping[str, Any], side: str) -> str:
    """The lab with the proposal applied; empty: it changes what the lab has no field for."""
    fields = {**REQUEST_FIELDS, "ranking_profile": side}
    query = dict(kept)
    for one in changes:
        if one.request_field not in fields:
            return ""
        value = json.loads(one.value)
        query[fields[one.request_field]] = ("1" if value else "") if isinstance(value, bool) else value
    return url("/lab", **query) if changes else ""
