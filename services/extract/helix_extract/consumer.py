"""The consumer: each turn is delivered once; the last turn of a window asks about all of them.

What happens to a window: its answer is found in HELIX_ANSWERS, or the model is asked and the answer recorded;
what passes the checks is published as one statements message. Nothing waits for it: a turn is recallable
by the rules of ingest long before. While the model does not answer, its windows wait here without an end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_extract.accounting.metrics import ABOUT_WINDOWS
from helix_extract.answers.check import CheckedAnswer, check
from helix_extract.answers.prompt import LISTS, PROMPT_VERSION, SYSTEM, answer_key, answer_schema, question
from helix_extract.answers.records import RecordedAnswer, find_answer
from helix_extract.language_model import NOT_ASKED, AnswerRequest, LanguageModel, RecordTarget
from helix_extract.windows.session_log import turn_of, valid_turn_of
from helix_memory import subjects
from helix_shared.broker import deadline, log
from helix_shared.broker.stored_at import stored_at
from helix_shared.broker.worker.rederive import Rederived, is_redrive, requested_sequence
from helix_shared.endpoint.client import Question
from helix_shared.endpoint.json_text import object_in
from helix_shared.endpoint.metrics import HELD_BACK
from helix_shared.errors import PermanentError, TemporaryError

if TYPE_CHECKING:
    from nats.aio.msg import Msg

    from helix_extract.settings import ExtractSettings
    from helix_extract.statements import StatementsBuilder
    from helix_extract.windows.session_log import SessionLog
    from helix_extract.windows.window import Turn, Window
    from helix_shared.broker.worker.derived import DerivedMessage
    from helix_shared.broker.worker.worker import Connected

SERVICE: Final = "extract"


@dataclass(frozen=True, slots=True)
class Extract:
    """The worker's collaborators."""

    settings: ExtractSettings
    sessions: SessionLog
    language_model: LanguageModel
    builder: StatementsBuilder

    async def handle(self, message: Msg, connected: Connected) -> None:
        """Ask about the window that ends with this turn, once it is complete; other turns need nothing.

        Raises:
            PermanentError: the server refuses the question.
            TemporaryError: NATS does not answer, or the worker ends.
        """
        sequence = message.metadata.sequence.stream
        turn = valid_turn_of(log.LoggedMessage(message.subject, sequence, stored_at(message), message.data))
        if turn is None or not self.settings.allows(turn.event.tenant_id):
            return
        with deadline.suspended():
            shown = await self._shown(turn, connected)
            answered = None if shown is None else await self._answered(shown, connected)
        if answered is None:
            return
        built = await self._build(*answered, connected)
        await built.publish(connected.publisher)

    async def rederive(self, request: Msg, connected: Connected) -> Rederived:
        """The statements of the window that ends with a turn, from its recorded answer.

        A window in a dead letter may have none, so a redrive asks as `handle` does.

        Raises:
            PermanentError: a redrive is refused: by the server, or because the tenant may not be asked about.
            TemporaryError: NATS does not answer, the log has no such turn, or a redrive may not ask now.
        """
        sequence = requested_sequence(request)
        found = await log.message_at(connected.client, subjects.EVENTS_STREAM, sequence)
        turn = None if found is None else turn_of(found)
        if turn is None:
            raise TemporaryError(f"event {sequence} is no turn of the log")
        window = await self.sessions.window_of(connected.client, turn)
        window = await self.sessions.still_logged(connected.client, window) or window
        window = window.without_secrets() or window
        key = answer_key(window, self.language_model.endpoint.model)
        answer = await find_answer(connected.client, turn.event.tenant_id, key)
        if answer is None and is_redrive(request):
            answered = await self._redriven(turn, connected)
            if answered is not None:
                return (await self._build(*answered, connected)).rederived
        checked = CheckedAnswer() if answer is None else self._checked(answer, window)
        return (await connected.lanes.run(self.builder.build, window, checked, key)).rederived

    async def _redriven(self, turn: Turn, connected: Connected) -> tuple[Window, RecordedAnswer, str] | None:
        """As `_answered`, of the window of a dead letter; None: there is nothing to ask about."""
        tenant = turn.event.tenant_id
        if not self.settings.allows(tenant):
            raise PermanentError(f"the language model may not be asked about tenant {tenant}")
        shown = await self._shown(turn, connected)
        answered = None if shown is None else await self._answered(shown, connected)
        is_left = shown is not None and await self.sessions.still_logged(connected.client, shown) is not None
        if answered is None and is_left:
            raise TemporaryError(NOT_ASKED)
        return answered

    async def _shown(self, turn: Turn, connected: Connected) -> Window | None:
        """The window that ends with a turn, without those that hold a credential, which are counted."""
        window = await self.sessions.completed_window(connected.client, turn)
        if window is None:
            return None
        shown = window.without_secrets()
        held_back = len(window.turns) - (0 if shown is None else len(shown.turns))
        HELD_BACK.labels(ABOUT_WINDOWS).inc(held_back)
        return shown

    async def _answered(
        self, window: Window, connected: Connected
    ) -> tuple[Window, RecordedAnswer, str] | None:
        """The window without turns that are erased, the answer about it and its key; None: there is none.

        An erasure may come while the model is waited for, which has no end.
        """
        there = await self.sessions.still_logged(connected.client, window)
        while there is not None:
            answer, key = await self._answer(there, connected)
            if answer is not None:
                return there, answer, key
            left = await self.sessions.still_logged(connected.client, there)
            if left == there:
                break
            there = left
        return None

    async def _answer(self, window: Window, connected: Connected) -> tuple[RecordedAnswer | None, str]:
        """The recorded answer, and its key; None where the model may not be asked."""
        tenant = window.last.event.tenant_id
        key = answer_key(window, self.language_model.endpoint.model)

        async def is_there() -> bool:
            return await self.sessions.still_logged(connected.client, window) == window

        async def ask() -> RecordedAnswer | None:
            most_tokens = self.settings.max_output_tokens
            asked = Question(ABOUT_WINDOWS, SYSTEM, question(window), answer_schema(), most_tokens)
            targets = [RecordTarget(key, tuple(turn.sequence for turn in window.turns))]
            answers = await self.language_model.ask(
                asked, tenant, PROMPT_VERSION, targets, connected, may_ask=is_there
            )
            return answers[0] if answers else None

        request = AnswerRequest(ABOUT_WINDOWS, tenant, key, window.last.stored_at)
        return await self.language_model.recorded_or_asked(request, ask, connected), key

    async def _build(
        self, window: Window, answer: RecordedAnswer, key: str, connected: Connected
    ) -> DerivedMessage:
        checked = await connected.lanes.run(self._checked, answer, window)
        counts = {"statements": len(checked.memories)}
        await self.language_model.note_checked(ABOUT_WINDOWS, "windows", counts, checked.dropped)
        return await connected.lanes.run(self.builder.build, window, checked, key)

    def _checked(self, answer: RecordedAnswer, window: Window) -> CheckedAnswer:
        found, is_cut = object_in(answer.text, LISTS)
        if found is None:
            return CheckedAnswer(dropped=Counter({"no answer": 1}))
        checked = check(found, window)
        if is_cut or answer.is_cut:
            checked.dropped["cut off"] += 1
        return checked
