"""Wraps every admitted handler, and records who called, for which tenant, and the outcome.

A record is made also where the handler or the admission refuses the call. It never changes an answer: what
cannot be recorded is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import grpc

from helix_memory import subjects
from helix_memory.recall.v1 import recall_pb2
from helix_query.accesses.audit import REFUSAL_CODES
from helix_shared.audit.record import ADDRESS_CHARACTERS, MOST_IDS, OK, short
from helix_shared.identity import MEMORY_ID_PATTERN
from helix_shared.rpc.access.admission import caller
from helix_shared.rpc.statuses import status_of
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import AUDIT_RECORDS

if TYPE_CHECKING:
    from helix_query.accesses.audit import AuditLog
    from helix_shared.rpc.guard import Call

_log = logger(__name__)


def audited(log: AuditLog, rpc: str, call: Call) -> Call:
    """`call`, a handler behind its admission, with a record of each of its calls."""
    if not log.is_on:
        return call

    async def answer(request: Any, context: Any) -> Any:
        outcome, reply = grpc.StatusCode.CANCELLED.name, None
        try:
            reply = await call(request, context)
            outcome = OK
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            outcome = status_of(error)[0].name
            raise
        finally:
            _add_record(log, rpc, request, context, outcome, reply)
        return reply

    return answer


def _add_record(log: AuditLog, rpc: str, request: Any, context: Any, outcome: str, reply: Any) -> None:
    try:
        log.add(_audit_record(rpc, request, context, outcome, reply))
    except Exception as error:  # noqa: BLE001  a recall never fails because of its record
        _log.warning("call not audited", rpc=rpc, error=type(error).__name__)
        AUDIT_RECORDS.labels("failed").inc()


def _audit_record(rpc: str, request: Any, context: Any, outcome: str, reply: Any) -> recall_pb2.AuditRecord:
    credential = caller()
    scope = request.recall.scope if "recall" in request.DESCRIPTOR.fields_by_name else request.scope
    asked = scope.tenant_id if subjects.is_token(scope.tenant_id) else ""
    own = ""
    if credential is not None and credential.tenants is not None and len(credential.tenants) == 1:
        [own] = credential.tenants
    is_proven = outcome not in REFUSAL_CODES
    proven = asked if is_proven else own
    user = (credential.user if credential is not None else None) or ""
    if is_proven and not user:
        user = short(scope.user_id)
    found = list(_ids(request, reply)) if reply is not None else _requested_ids(request)
    return recall_pb2.AuditRecord(
        call=rpc,
        outcome=outcome,
        tenant_id=proven,
        requested_tenant_id=asked if asked != proven else "",
        credential=credential.id if credential is not None else "",
        user_id=user,
        roles=sorted(credential.roles) if credential is not None else (),
        address=str(context.peer())[:ADDRESS_CHARACTERS],
        memory_ids=found[:MOST_IDS],
        count=len(found),
        generation=getattr(reply, "generation", 0),
    )


def _ids(request: Any, reply: Any) -> Iterable[str]:
    """Ids of the memories that a reply shows; of a request about one memory, its id."""
    shown = _IDS_OF_REPLY.get(type(reply))
    return _requested_ids(request) if shown is None else dict.fromkeys(shown(reply))


def _requested_ids(request: Any) -> list[str]:
    """The id of a memory that a request is about, if it has the form of one."""
    named = getattr(request, "memory_id", "")
    return [named] if MEMORY_ID_PATTERN.match(named) else []


def _recalled_ids(reply: recall_pb2.RecallResponse) -> list[str]:
    """Memories of a recall, and those around them, in its profile and in its explanation."""
    memories = [one.memory.memory_id for one in reply.memories]
    explained = [one.memory_id for one in reply.explanation.candidates]
    return [*memories, *reply.context.surrounding_ids, *_profile_ids(reply), *explained]


def _profile_ids(reply: recall_pb2.RecallResponse | recall_pb2.GetProfileResponse) -> list[str]:
    return [one for line in reply.profile.lines for one in line.memory_ids]


def _listed_ids(
    reply: recall_pb2.ListMemoriesResponse | recall_pb2.TimelineResponse | recall_pb2.GetHistoryResponse,
) -> list[str]:
    return [one.memory_id for one in reply.memories]


_IDS_OF_REPLY: Final[dict[type, Callable[[Any], list[str]]]] = {
    recall_pb2.RecallResponse: _recalled_ids,
    # a result that is an error has an empty response
    recall_pb2.BatchRecallResponse: lambda reply: [
        found for one in reply.results for found in _recalled_ids(one.response)
    ],
    recall_pb2.PackResponse: lambda reply: [*reply.memory_ids, *reply.context.surrounding_ids],
    recall_pb2.GetProfileResponse: _profile_ids,
    recall_pb2.ListMemoriesResponse: _listed_ids,
    recall_pb2.TimelineResponse: _listed_ids,
    recall_pb2.GetHistoryResponse: _listed_ids,
    recall_pb2.NeighboursResponse: lambda reply: [
        one.memory.memory_id for one in reply.nodes if one.HasField("memory")
    ],
    recall_pb2.FindIdsResponse: lambda reply: [
        found for one in (reply, *reply.more) for found in one.memory_ids
    ],
}
"""How the ids are read from a reply with several memories."""
