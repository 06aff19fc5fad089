"""Events about memories that are named by id, and which of the ids name nothing.

The log takes such an event whatever it names. A service refuses it where it reaches none of the memories.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.operations.requests import given
from helix_memory.client.results import Written
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError, NotFoundError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from helix_gateway.operations.operation import Run
    from helix_memory.client import AsyncHelix

_EVENT_ID: Final = "memory_id"
_EVENT_IDS: Final = "memory_ids"
_REQUEST_IDS: Final = "memories"
"""The same ids, as a request names them."""


@dataclass(frozen=True, slots=True)
class Changed(Written):
    """A write about memories that exist."""

    missing: tuple[str, ...] | None
    """Of the ids in the request, those of no memory of this caller: nothing was done about them. None where
    it is not known: the caller lacks the role recall, the query service did not answer, or the event was not
    applied in time and may reach an id that is on its way."""


async def unknown(helix: AsyncHelix, ids: Sequence[str]) -> list[str] | None:
    """Those of the ids of which this caller has no memory, or none yet: a write may not be processed.

    None where the query service does not answer: a write takes NATS alone, and goes on.
    """
    try:
        states = await helix.states(ids)
    except TemporaryError:
        return None
    return [name for name, one in states.by_id.items() if one is None or one.loss == recall_pb2.LOSS_ERASED]


async def changed_memories(
    helix: AsyncHelix, act: str, ids: Sequence[str], *, unknown_ids: Sequence[str] | None, **options: Any
) -> tuple[Changed, bool]:
    """Forget or restore memories; also says whether the event is applied.

    It waits where there are `unknown_ids`, which may be on their way. Which ids are missing is not known
    where these are None, as they were not looked up, or where events take long: they may still be reached.

    Raises:
        HelixError: as `AsyncHelix.forget`; also where none of the memories exists.
    """
    one: Written = await getattr(helix, act)(*ids, **options)
    waits = bool(options.get("wait"))
    is_applied = waits or (bool(unknown_ids) and await _is_applied(helix, one))
    is_known = unknown_ids is not None and (is_applied or not unknown_ids)
    missing = await unknown(helix, unknown_ids or ()) if is_known else None
    named = None if missing is None else tuple(missing)
    return Changed(one.event_id, one.memory_id, one.sequence, one.duplicate, named), is_applied


async def written_and_applied(
    helix: AsyncHelix, memory: str, write: Callable[[], Awaitable[Written]]
) -> tuple[Written, bool]:
    """Write about a memory, and wait for the event where the memory is not known; whether it is applied.

    Raises:
        HelixError: as `write`; also where the memory does not exist.
    """
    unknown_ids = await unknown(helix, [memory])
    written = await write()
    return written, bool(unknown_ids) and await _is_applied(helix, written)


def selecting(act: str) -> Run:
    """Forget, restore or erase what a request selects, without a look at what there is."""

    async def run(helix: AsyncHelix, sent: Any) -> Written:
        ids, options = _selected(sent)
        try:
            written: Written = await getattr(helix, act)(*ids, **options)
        except InvalidInputError as error:
            raise _named_as_sent(error) from error
        return written

    return run


def not_found_if_refused(run: Run) -> Run:
    """A change of the memory in the path, which is not found where a service refuses its id."""

    async def found(helix: AsyncHelix, sent: Any) -> Written:
        try:
            written: Written = await run(helix, sent)
        except InvalidInputError as error:
            if error.field != _EVENT_ID:
                raise
            raise NotFoundError(error.reason) from error
        return written

    return found


def applied_if_unknown(run: Run) -> Run:
    """A change of the memory in the path, which waits for its event where the memory is not known."""

    async def awaited(helix: AsyncHelix, sent: Any) -> Written:
        if sent.wait:
            return await run(helix, sent)  # type: ignore[no-any-return]
        return (await written_and_applied(helix, sent.id, partial(run, helix, sent)))[0]

    return awaited


def naming_missing(act: str, *, may_recall: bool) -> Run:
    """Forget or restore what a request selects; a caller who may recall is told which ids name nothing."""

    async def run(helix: AsyncHelix, sent: Any) -> Changed:
        ids, options = _selected(sent)
        unknown_ids = await unknown(helix, ids) if may_recall else None
        try:
            return (await changed_memories(helix, act, ids, unknown_ids=unknown_ids, **options))[0]
        except InvalidInputError as error:
            raise _named_as_sent(error) from error

    return run


async def _is_applied(helix: AsyncHelix, written: Written) -> bool:
    try:
        await helix.wait(written)
    except TemporaryError:
        return False
    return True


def _selected(sent: Any) -> tuple[list[str], dict[str, Any]]:
    """The ids of a request, each once, and its other fields."""
    return list(dict.fromkeys(sent.memories or ())), given(sent, _REQUEST_IDS)


def _named_as_sent(error: InvalidInputError) -> InvalidInputError:
    """The refusal under the name that the ids have in a request."""
    name, dot, rest = error.field.partition(".")
    return InvalidInputError(_REQUEST_IDS + dot + rest, error.reason) if name == _EVENT_IDS else error
