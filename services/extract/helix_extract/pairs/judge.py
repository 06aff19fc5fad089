"""The handler of HELIX_PAIRS: pairs of one event are asked about together with others of their owner.

The answer about each event is found in HELIX_ANSWERS, or the model is asked and the answer recorded; the
verdicts that pass the checks are published as one message. Nothing waits for it: consolidation decided by its
rules before. A rebuild publishes the pairs again and finds the recorded answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from helix_extract.accounting.metrics import ABOUT_PAIRS
from helix_extract.answers.records import RecordedAnswer, find_answer
from helix_extract.language_model import NOT_ASKED, AnswerRequest, LanguageModel, RecordTarget
from helix_extract.pairs.batches import Batches
from helix_extract.pairs.check import CheckedVerdicts, check
from helix_extract.pairs.prompt import (
    ANSWER_TOKENS,
    PROMPT_VERSION,
    SYSTEM,
    TOKENS_FOR_A_PAIR,
    answer_key,
    answer_schema,
    question,
)
from helix_memory import subjects
from helix_shared.broker import deadline, log
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.broker.worker.rederive import Rederived, is_redrive, requested_sequence
from helix_shared.edges import Origin
from helix_shared.endpoint.client import Question, RefusedError
from helix_shared.endpoint.metrics import HELD_BACK
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.pairs.messages import UnsurePairs, read_pairs
from helix_shared.pairs.verdicts import EDGE, NO_VERDICT, SCHEMA
from helix_shared.text.flags import holds_secret

if TYPE_CHECKING:
    from nats.aio.msg import Msg

    from helix_extract.settings import ExtractSettings
    from helix_shared.broker.worker.worker import Connected

VERSION: Final = "1"
"""Part of the de-duplication id: raise it when the same answer should give other verdicts."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Pairs of one event that nobody has answered yet."""

    asked: UnsurePairs
    key: str
    connected: Connected


class Judge:
    """Used from one event loop."""

    def __init__(self, settings: ExtractSettings, language_model: LanguageModel) -> None:
        self._settings = settings
        self._language_model = language_model
        self._batches = Batches[_Waiting, RecordedAnswer | None](
            self._ask,
            most=settings.pairs_at_once,
            seconds=settings.pairs_seconds,
            pause=language_model.pause,
        )

    async def handle(self, message: Msg, connected: Connected) -> None:
        """Publish the verdicts about the pairs of one event.

        Raises:
            PermanentError: the message holds no pairs.
            TemporaryError: NATS does not answer, or the worker ends.
        """
        asked = read_pairs(message.data)
        if message.subject != subjects.pairs_subject(asked.tenant_id, asked.event_sequence):
            raise PermanentError("message of HELIX_PAIRS names another tenant or event than its subject")
        if not (self._settings.pairs and self._settings.allows(asked.tenant_id)):
            return
        asked, held_back = _without_secrets(asked)
        HELD_BACK.labels(ABOUT_PAIRS).inc(held_back)
        if not asked.pairs:
            return
        key = answer_key(asked, self._language_model.endpoint.model)
        with deadline.suspended():
            answer = await self._answer(asked, key, connected)
        if answer is None:
            return
        checked = await connected.lanes.run(check, answer, asked.pairs)
        given = sum(verdict != NO_VERDICT for verdict in checked.verdicts)
        counts = {"pairs": len(asked.pairs), "verdicts": given}
        await self._language_model.note_checked(ABOUT_PAIRS, "events", counts, checked.dropped)
        await _message(asked, checked, key).publish(connected.publisher)

    async def rederive(self, request: Msg, connected: Connected) -> Rederived:
        """The verdicts about the pairs of an event, from its recorded answer; none where the pairs are gone.

        Pairs in a dead letter may have no answer, so a redrive asks as `handle` does.

        Raises:
            PermanentError: a redrive may not ask about the tenant, or about any pairs.
            TemporaryError: NATS does not answer, the log has no such event, or a redrive may not ask now.
        """
        sequence = requested_sequence(request)
        subject = subjects.pairs_subject("*", sequence)
        found = await log.first_after(connected.client, subjects.PAIRS_STREAM, subject, 0)
        if found is None:
            event = await log.message_at(connected.client, subjects.EVENTS_STREAM, sequence)
            address = subjects.parse_event_subject(event.subject) if event is not None else None
            if address is None:
                raise TemporaryError(f"there is no event {sequence}")
            origin = _origin(address.tenant_id, sequence)
            return DerivedMessage.of(origin, [], SCHEMA, version=VERSION).rederived
        asked, _ = _without_secrets(read_pairs(found.body))
        key = answer_key(asked, self._language_model.endpoint.model)
        answer = await find_answer(connected.client, asked.tenant_id, key)
        if answer is None and asked.pairs and is_redrive(request):
            answer = await self._redriven(asked, key, connected)
        checked = CheckedVerdicts([]) if answer is None else check(answer, asked.pairs)
        return _message(asked, checked, key).rederived

    async def _redriven(self, asked: UnsurePairs, key: str, connected: Connected) -> RecordedAnswer | None:
        """As `_answer`, about the pairs of a dead letter; None: they are gone."""
        if not (self._settings.pairs and self._settings.allows(asked.tenant_id)):
            raise PermanentError(f"the language model may not be asked about pairs of {asked.tenant_id}")
        answer = await self._answer(asked, key, connected)
        if answer is None and await _is_there(_Waiting(asked, key, connected)):
            raise TemporaryError(f"{NOT_ASKED}, or the server refuses")
        return answer

    async def _answer(self, asked: UnsurePairs, key: str, connected: Connected) -> RecordedAnswer | None:
        """The recorded answer about the pairs of one event; None where the model may not be asked."""
        group, count = (asked.tenant_id, asked.group), len(asked.pairs)
        waiting = _Waiting(asked, key, connected)
        ask = partial(self._batches.answer, group, waiting, size=count)
        stored_at = datetime.fromtimestamp(asked.stored_at / 1e6, UTC)
        request = AnswerRequest(ABOUT_PAIRS, asked.tenant_id, key, stored_at, count)
        return await self._language_model.recorded_or_asked(request, ask, connected)

    async def _ask(self, waiting: Sequence[_Waiting]) -> Sequence[RecordedAnswer | None]:
        """Ask one question about the pairs of several events of one tenant and group.

        Pairs whose message consolidation removed from the stream are left out, also while the model is waited
        for: a text of theirs was forgotten or erased.
        """
        answers: dict[str, RecordedAnswer] = {}
        while there := [one for one in waiting if await _is_there(one)]:
            found = await self._ask_about(there)
            answers = {one.key: answer for one, answer in zip(there, found, strict=False)}
            if found or await _are_there(there):
                break
        gone = sum(len(one.asked.pairs) for one in waiting if one not in there)
        if gone:
            await self._language_model.note(ABOUT_PAIRS, "forgotten", gone)
        return [answers.get(one.key) for one in waiting]

    async def _ask_about(self, waiting: Sequence[_Waiting]) -> Sequence[RecordedAnswer]:
        """The answer for each; none where the model may not be asked, or a message is not there any more."""
        pairs = [pair for one in waiting for pair in one.asked.pairs]
        sides = (side for pair in pairs for side in (pair.newer, pair.older))
        events = tuple(sorted({side.sequence for side in sides}))
        targets, first = list[RecordTarget](), 1
        for one in waiting:
            targets.append(RecordTarget(one.key, events, first, len(one.asked.pairs)))
            first += len(one.asked.pairs)
        room = ANSWER_TOKENS + TOKENS_FOR_A_PAIR * len(pairs)
        most_tokens = min(self._settings.max_output_tokens, room)
        asked = Question(ABOUT_PAIRS, SYSTEM, question(pairs), answer_schema(), most_tokens)
        tenant, connected = waiting[0].asked.tenant_id, waiting[0].connected
        try:
            answers = await self._language_model.ask(
                asked, tenant, PROMPT_VERSION, targets, connected, may_ask=partial(_are_there, waiting)
            )
        except RefusedError:
            # it was counted, and the rules have decided already
            answers = None
        return answers or ()


async def _are_there(waiting: Sequence[_Waiting]) -> bool:
    return all([await _is_there(one) for one in waiting])


async def _is_there(waiting: _Waiting) -> bool:
    """Whether the message still lies in the stream."""
    subject = subjects.pairs_subject(waiting.asked.tenant_id, waiting.asked.event_sequence)
    client = waiting.connected.client
    return await log.first_after(client, subjects.PAIRS_STREAM, subject, 0) is not None


def _without_secrets(asked: UnsurePairs) -> tuple[UnsurePairs, int]:
    """The pairs without those of which a text holds a credential, and the number of these."""
    shown = tuple(p for p in asked.pairs if not (holds_secret(p.newer.text) or holds_secret(p.older.text)))
    return asked.model_copy(update={"pairs": shown}), len(asked.pairs) - len(shown)


def _origin(tenant_id: str, event_sequence: int) -> Origin:
    return Origin(EDGE, tenant_id, event_id="", event_kind="", event_sequence=event_sequence)


def _message(asked: UnsurePairs, checked: CheckedVerdicts, key: str) -> DerivedMessage:
    rows = [
        {
            "newer": pair.newer.memory_id,
            "newer_sequence": pair.newer.sequence,
            "older": pair.older.memory_id,
            "older_sequence": pair.older.sequence,
            "verdict": verdict,
        }
        for pair, verdict in zip(asked.pairs, checked.verdicts, strict=False)
    ]
    return DerivedMessage.of(
        _origin(asked.tenant_id, asked.event_sequence), rows, SCHEMA, version=f"{VERSION}:{key}"
    )
