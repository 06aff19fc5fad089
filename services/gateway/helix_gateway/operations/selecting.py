"""Events about memories that are named by id, and which of the ids name nothing.

The log takes such an event whatever it names. A service refuses it where it reaches none of the memories.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.operations.requests import given
from helix_memory.client.results import Written
from helix_memory.transport.recall_client import unknown_ids
from helix_shared.errors import HelixError, InvalidInputError, NotFoundError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from helix_gateway.operations.operation import Run
    from helix_memory.client import AsyncHelix

_EVENT_ID: Final = "memory_id"
_EVENT_IDS: Final = "memory_ids"
_REQUEST_IDS: Final = "memories"
"""The same ids, as a request names them."""
_WAIT: Final = "wait"


@dataclass(frozen=True, slots=True)
class Changed(Written):
    """A write about memories that exist."""

    missing: tuple[str, ...] | None
    """Of the ids in the request, those of no memory that this caller can recall. The write has them, too. It
    changes nothing of them, but an erasure also removes what is on its way, and a caller without a user also
    changes memories of users. None where it is not known: the caller lacks the role recall, the query service
    did not answer, the event was not applied in time and may reach an id that is on its way, or an erasure
    was applied already."""


async def changed_memories(
    helix: AsyncHelix,
    ids: Sequence[str],
    write: Callable[..., Awaitable[Written]],
    *,
    may_recall: bool,
    wait: bool,
) -> tuple[Changed, bool]:
    """Write about memories, and look up which ids name nothing; also says whether the event is applied.

    The write goes first, since what is missing is only told. Where ids are unknown it is waited for, because
    they may be on their way; which of them are missing is not known if that takes long.

    Raises:
        HelixError: as `write`; also where none of the memories exists.
    """
    written = await (write(wait=True) if wait else write())
    missing, is_applied = await _unknown(helix, ids) if may_recall else None, wait
    if missing and not wait:
        is_applied = await _is_applied(helix, written)
        missing = await _unknown(helix, missing) if is_applied else None
    return _changed(written, missing), is_applied


async def erased_memories(
    helix: AsyncHelix,
    ids: Sequence[str],
    write: Callable[..., Awaitable[Written]],
    *,
    may_recall: bool,
    wait: bool,
) -> Changed:
    """Erase memories, and look up which ids name nothing.

    After an erasure nothing tells what it has removed and what never was. So they are looked up before the
    wait, and the result counts only if the erasure was not applied there.
    """
    written = await write()
    missing = await _unknown(helix, ids, erased_at=written.sequence) if may_recall else None
    if wait:
        await helix.wait(written)
    return _changed(written, missing)


async def written_and_applied(
    helix: AsyncHelix, memory: str, write: Callable[[], Awaitable[Written]]
) -> tuple[Written, bool]:
    """Write about a memory, and wait for the event where the memory is not known; whether it is applied.

    Raises:
        HelixError: as `write`; also where the memory does not exist.
    """
    written = await write()
    return written, bool(await _unknown(helix, [memory])) and await _is_applied(helix, written)


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
    """Change or erase what a request selects; a caller who may recall is told which ids name nothing."""

    async def run(helix: AsyncHelix, sent: Any) -> Changed:
        ids, options = _selected(sent)
        write, wait = partial(getattr(helix, act), *ids, **options), bool(sent.wait)
        try:
            if act == "erase":
                return await erased_memories(helix, ids, write, may_recall=may_recall, wait=wait)
            return (await changed_memories(helix, ids, write, may_recall=may_recall, wait=wait))[0]
        except InvalidInputError as error:
            raise _named_as_sent(error) from error

    return run


def judging(*, may_recall: bool) -> Run:
    """Feedback; a caller who may recall is told which ids name nothing."""

    async def run(helix: AsyncHelix, sent: Any) -> Changed:
        ids = list(dict.fromkeys([*(sent.helpful or ()), *(sent.unhelpful or ())]))
        write = partial(helix.feedback, **given(sent, _WAIT))
        wait = bool(sent.wait)
        return (await changed_memories(helix, ids, write, may_recall=may_recall, wait=wait))[0]

    return run


async def _unknown(
    helix: AsyncHelix, ids: Sequence[str], *, erased_at: int | None = None
) -> list[str] | None:
    """Those of the ids of which this caller has no memory, or none yet: a write may not be processed.

    With `erased_at`, those that had none before the erasure with this sequence. None where it is not known:
    the write about them is stored, and does not fail for it.
    """
    try:
        states = await helix.states(ids)
    except HelixError:
        return None
    return unknown_ids(states.by_id, states.applied_sequence, erased_at=erased_at)


def _changed(written: Written, missing: Sequence[str] | None) -> Changed:
    named = None if missing is None else tuple(missing)
    return Changed(written.event_id, written.memory_id, written.sequence, written.duplicate, named)


async def _is_applied(helix: AsyncHelix, written: Written) -> bool:
    try:
        await helix.wait(written)
    except TemporaryError:
        return False
    return True


def _selected(sent: Any) -> tuple[list[str], dict[str, Any]]:
    """The ids of a request, each once, and its other fields without the wait."""
    return list(dict.fromkeys(sent.memories or ())), given(sent, _REQUEST_IDS, _WAIT)


def _named_as_sent(error: InvalidInputError) -> InvalidInputError:
    """The refusal under the name that the ids have in a request."""
    name, dot, rest = error.field.partition(".")
    return InvalidInputError(_REQUEST_IDS + dot + rest, error.reason) if name == _EVENT_IDS else error
