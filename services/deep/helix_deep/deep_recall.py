"""A deep recall: its stages in their order. Read this file to know how a result comes about.

The plain recall comes first and is never lost: whatever fails after it is left out. Every list is an answer
of the query service in the scope of the caller.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from helix_deep.fast.lists import Search, plain_request, search_request, wide_request
from helix_deep.found import Found
from helix_deep.questions import rerank, rewrites, understand
from helix_deep.questions.kinds import (
    HYDE,
    KIND_OF_INTENT,
    MODEL_STAGES,
    QUERY2DOC,
    RERANK,
    REWRITES,
    UNDERSTAND,
)
from helix_deep.questions.model import LeftOutError, Model, count_dropped
from helix_deep.questions.subject import Subject
from helix_deep.stages.fuse import fuse
from helix_deep.stages.order import Placed, blend, distinct, first_half, keep_plain, unblended
from helix_shared.endpoint.metrics import HELD_BACK
from helix_shared.errors import HelixError, TemporaryError
from helix_shared.text.flags import holds_secret

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from helix_deep.fast.query_service import Metadata, QueryService
    from helix_deep.progress import Progress
    from helix_deep.stages.fuse import Fused
    from helix_memory.recall.v1 import recall_pb2

RECALL: Final = "recall"
PROFILE: Final = "profile"
RETRIEVE: Final = "retrieve"
FUSE: Final = "fuse"
PACK: Final = "pack"

PROFILE_TOKENS: Final = 200
PROFILE_LINES: Final = 8
USUAL_MEMORIES: Final = 10
"""Memories of a result where neither the request nor the plain recall tells a number."""
NOTHING_USABLE: Final = "the answer of the language model holds nothing that can be used"


@dataclass(frozen=True, slots=True)
class Ask:
    """What one call asks for, with its limits applied."""

    recall: recall_pb2.RecallRequest
    stages: Collection[str]
    """Of `kinds.MODEL_STAGES`."""
    day: str
    """Date on which it is asked, YYYY-MM-DD."""
    candidates: int
    metadata: Metadata = ()
    """The credential of the caller, for the query service."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out; `placed` is empty where the plain recall is the result."""

    plain: recall_pb2.RecallResponse
    found: Found
    placed: Sequence[Placed] = ()
    is_named: bool = False
    """Whether the model named a memory that answers."""
    packed: recall_pb2.PackResponse | None = None


@dataclass(slots=True)
class DeepRecall:
    """The stages of one call; `no_model` says why there is no `model`."""

    ask: Ask
    query: QueryService
    progress: Progress
    model: Model | None
    until: float
    """Moment of the monotonic clock at which the call ends."""
    no_model: str = ""
    _found: Found = field(default_factory=Found)

    async def run(self) -> Outcome:
        """Run all stages.

        Raises:
            HelixError: the query service does not answer the plain recall, or refuses it.
        """
        plain = await self._recall()
        placed: list[Placed] = []
        is_named = False
        if plain.route.skipped:
            self._skip_all("the question needs no memory")
        elif self.model is None:
            for stage in self.ask.stages:
                self.progress.leave_out(stage, self.no_model)
        else:
            subject = await self._with_profile(await self._understood(self.model, plain))
            await self._retrieve(await self._searches(self.model, subject))
            fused = await self._fused(plain)
            placed, is_named = await self._ordered(self.model, subject, fused)
        chosen = self._chosen(placed, plain)
        packed = await self._pack(plain, chosen, is_named=is_named)
        return Outcome(plain, self._found, chosen, is_named, packed)

    async def _recall(self) -> recall_pb2.RecallResponse:
        """The plain recall, and its longer list; both from one generation."""
        recall = self.ask.recall
        longer = max(self.ask.candidates, recall.top_k)
        requests = [plain_request(recall), wide_request(recall, top_k=longer)]
        async with self.progress.stage(RECALL, required=True) as record:
            plain, wide = await self.query.recalls(
                recall.scope, requests, self.ask.metadata, until=self.until
            )
            if isinstance(plain, HelixError):
                raise plain
            self._found.add_plain(plain, plain if isinstance(wide, HelixError) else wide)
            record.lists = 1
        return plain

    async def _understood(self, model: Model, plain: recall_pb2.RecallResponse) -> Subject:
        """The subject, with the kinds of the router and those that the model adds."""
        kinds = frozenset(KIND_OF_INTENT[one] for one in plain.route.intents if one in KIND_OF_INTENT)
        subject = Subject(self.ask.recall.query, self.ask.day, kinds)
        if UNDERSTAND not in self.ask.stages:
            return subject
        async with self.progress.stage(UNDERSTAND) as record:
            reply = await model.ask(understand.question(subject))
            record.tokens = reply.prompt_tokens + reply.completion_tokens
            read = understand.read(reply.text, subject)
            count_dropped(UNDERSTAND, read.dropped)
            if not read.is_found:
                raise LeftOutError(NOTHING_USABLE)
            subject = replace(subject, kinds=kinds | read.kinds, names=read.names, is_simple=read.is_simple)
            record.asked[:] = sorted(subject.kinds) or ["plain"]
        return subject

    async def _with_profile(self, subject: Subject) -> Subject:
        """The subject with what the user said of themself, but for credentials, where it asks for advice."""
        if not subject.is_preference or not {*REWRITES} & {*self.ask.stages}:
            return subject
        lines: tuple[str, ...] = ()
        async with self.progress.stage(PROFILE):
            profile = await self.query.profile(
                self.ask.recall, tokens=PROFILE_TOKENS, metadata=self.ask.metadata, until=self._until_packing
            )
            shown = [line.text for line in profile.lines if not holds_secret(line.text)]
            HELD_BACK.labels(PROFILE).inc(len(profile.lines) - len(shown))
            lines = tuple(shown[:PROFILE_LINES])
        return replace(subject, profile=lines)

    async def _searches(self, model: Model, subject: Subject) -> list[Search]:
        """Texts to search for, each once, of all stages that give any, in the order of the stages."""
        needed = []
        for stage in REWRITES:
            if stage not in self.ask.stages:
                continue
            if stage in {HYDE, QUERY2DOC} and subject.is_simple and not subject.is_preference:
                self.progress.skip(stage, "the question is simple")
            else:
                needed.append(stage)
        found = await asyncio.gather(*(self._rewritten(model, stage, subject) for stage in needed))
        return list(dict.fromkeys(chain.from_iterable(found)))

    async def _rewritten(self, model: Model, stage: str, subject: Subject) -> list[Search]:
        searches = []
        async with self.progress.stage(stage) as record:
            reply = await model.ask(rewrites.question(stage, subject))
            record.tokens = reply.prompt_tokens + reply.completion_tokens
            checked = rewrites.read(stage, reply.text, subject)
            count_dropped(stage, checked.dropped)
            if not checked.items:
                raise LeftOutError(NOTHING_USABLE)
            searches = [Search(text, is_dense=stage == HYDE) for text in checked.items]
            record.asked[:] = checked.items
        return searches

    async def _retrieve(self, searches: Sequence[Search]) -> None:
        """A list of the query service for each text."""
        if not searches:
            return
        recall, top_k = self.ask.recall, self.ask.candidates
        async with self.progress.stage(RETRIEVE) as record:
            requests = [search_request(recall, search, top_k=top_k) for search in searches]
            answers = await self.query.recalls(
                recall.scope, requests, self.ask.metadata, until=self._until_packing
            )
            lists = [answer for answer in answers if not isinstance(answer, HelixError)]
            if not lists:
                raise TemporaryError(str(answers[0]))
            served = frozenset(recall.already_served)
            for answer in lists:
                self._found.add(answer, without=served)
            record.asked[:] = [search.text for search in searches]
            record.lists = len(lists)

    async def _fused(self, plain: recall_pb2.RecallResponse) -> list[Fused]:
        fused: Sequence[Fused] = ()
        async with self.progress.stage(FUSE) as record:
            fused = fuse(self._found.lists)
            record.lists = len(self._found.lists)
        return self._found.with_all_of(plain, fused)

    async def _ordered(
        self, model: Model, subject: Subject, fused: Sequence[Fused]
    ) -> tuple[list[Placed], bool]:
        """The order, and whether the model named a memory; no order where only the plain recall is known."""
        placed = unblended(fused) if len(self._found.lists) > 1 else []
        order: Sequence[int] = ()
        if RERANK not in self.ask.stages:
            return placed, False
        first = fused[: self.ask.candidates]
        shown = [place for place, one in enumerate(first, 1) if not self._found.is_secret(one.memory_id)]
        HELD_BACK.labels(RERANK).inc(len(first) - len(shown))
        if len(shown) < rerank.LEAST_CANDIDATES:
            self.progress.skip(RERANK, "there are no two memories that the language model may compare")
            return placed, False
        async with self.progress.stage(RERANK) as record:
            candidates = [self._found.candidate(fused[place - 1].memory_id) for place in shown]
            asked = rerank.question(subject, candidates, tokens=model.room)
            if asked is None:
                raise LeftOutError(model.no_room)
            question, count = asked
            reply = await model.ask(question)
            record.tokens = reply.prompt_tokens + reply.completion_tokens
            checked = rerank.read(reply.text, count=count)
            count_dropped(RERANK, checked.dropped)
            if checked.dropped and not checked.items:
                raise LeftOutError(NOTHING_USABLE)
            order = [shown[number - 1] for number in checked.items]
            record.reason = "" if order else "the language model names no memory that answers"
        return (blend(fused, order), True) if order else (placed, False)

    def _chosen(self, placed: Sequence[Placed], plain: recall_pb2.RecallResponse) -> list[Placed]:
        """The memories of the result, best first."""
        ids = [one.memory.memory_id for one in plain.memories]
        top_k = self.ask.recall.top_k or len(ids) or USUAL_MEMORIES
        kept = distinct(placed, self._found.says, owed=first_half(ids, top_k))
        return keep_plain(kept, ids, top_k=top_k)

    async def _pack(
        self, plain: recall_pb2.RecallResponse, chosen: Sequence[Placed], *, is_named: bool
    ) -> recall_pb2.PackResponse | None:
        """The packed context, by the query service; None: that of the plain recall holds.

        Nothing is packed where the plain recall abstained, unless the model named a memory that answers.
        """
        ids = [one.memory_id for one in chosen] or [one.memory.memory_id for one in plain.memories]
        if not ids or (plain.abstained and not is_named):
            return None
        async with self.progress.stage(PACK):
            return await self.query.pack(self.ask.recall, ids, self.ask.metadata, until=self.until)
        return None

    @property
    def _until_packing(self) -> float:
        """End of what may be left out: the time for packing remains."""
        return self.until if self.model is None else self.model.budget.until

    def _skip_all(self, reason: str) -> None:
        for stage in MODEL_STAGES:
            if stage in self.ask.stages:
                self.progress.skip(stage, reason)
