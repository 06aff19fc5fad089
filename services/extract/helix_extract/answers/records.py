"""Recorded answers: HELIX_ANSWERS holds the first reply to each question, for ever.

A question is asked again only if the worker dies between the reply and its record. A replay, another copy of
the worker and a rebuild of the data folder find the record. A reply is kept as the model wrote it: a later
release that extracts more from it does so without asking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from helix_memory import subjects
from helix_memory.transport.publisher import FIRST_ONLY
from helix_shared.broker import log
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nats.aio.client import Client

    from helix_memory.transport.publisher import Publishes


class RecordedAnswer(BaseModel):
    """A reply as it was received; `text` is empty where it could not be used."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str
    prompt: str
    """Version of the prompt."""
    text: str
    is_cut: bool = False
    """The model reached its output limit."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    first: int = 0
    """Number of the first pair of this event in a question about pairs of several events; else 0."""
    asked: int = 0
    """Number of pairs in the question."""


async def find_answer(client: Client, tenant_id: str, key: str) -> RecordedAnswer | None:
    """The recorded reply to a question; None if it was never answered.

    Raises:
        TemporaryError: NATS does not answer.
    """
    subject = subjects.answer_subject(tenant_id, key)
    found = await log.first_after(client, subjects.ANSWERS_STREAM, subject, 0)
    if found is None:
        return None
    try:
        return RecordedAnswer.model_validate_json(found.body)
    except ValidationError as error:
        raise PermanentError(f"recorded answer {key} is not one; remove it from the stream") from error


async def record_answer(
    client: Client,
    publisher: Publishes,
    tenant_id: str,
    key: str,
    answer: RecordedAnswer,
    *,
    events: Sequence[int],
) -> RecordedAnswer:
    """Record a reply to a question with the texts of `events`, which are sequences.

    Returns the recorded one, which is another if a second copy of the worker was first.

    Raises:
        TemporaryError: NATS does not answer.
    """
    try:
        await publisher.publish(
            subjects.answer_subject(tenant_id, key),
            answer.model_dump_json().encode(),
            message_id=subjects.answer_message_id(tenant_id, key),
            headers=FIRST_ONLY | {subjects.EVENTS_HEADER: ",".join(map(str, events))},
        )
    except PermanentError:
        earlier = await find_answer(client, tenant_id, key)
        if earlier is None:
            raise
        return earlier
    return answer
