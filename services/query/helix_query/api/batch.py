"""A batch of recalls: checks its requests one by one and puts the results in their order.

An invalid request becomes the error of its own result; an invalid batch is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Final

import grpc

from helix_memory import limits
from helix_memory.recall.v1 import recall_pb2
from helix_query.api.requests import query_of
from helix_query.recall.query import Query
from helix_shared.errors import InvalidInputError

Refused = tuple[grpc.StatusCode, str]
"""Status and message of a request that failed."""
Outcome = recall_pb2.RecallResponse | Refused

OWN_SCOPE: Final = "must be left out: the scope of the batch applies"


def queries_of(
    batch: recall_pb2.BatchRecallRequest, *, profiles: Collection[str], clock: datetime
) -> list[Query | InvalidInputError]:
    """The query of each request, or its error; `clock` is the moment of all of them.

    Raises:
        InvalidInputError: the batch is empty or too large.
    """
    if not 1 <= len(batch.requests) <= limits.BATCH_RECALLS:
        count = len(batch.requests)
        raise InvalidInputError("requests", f"must have 1 to {limits.BATCH_RECALLS} entries, not {count}")
    return [_query_of(batch.scope, one, profiles=profiles, clock=clock) for one in batch.requests]


def batch_response(outcomes: Sequence[Outcome], *, generation: int) -> recall_pb2.BatchRecallResponse:
    """The reply to a batch."""
    return recall_pb2.BatchRecallResponse(results=map(_result, outcomes), generation=generation)


def in_order(
    checked: Sequence[Query | InvalidInputError],
    results: Iterator[recall_pb2.RecallResponse | BaseException],
) -> list[recall_pb2.RecallResponse | BaseException]:
    """The error of each invalid request, and the next of `results` for each query, in request order."""
    return [next(results) if isinstance(one, Query) else one for one in checked]


def _query_of(
    scope: recall_pb2.Scope, request: recall_pb2.RecallRequest, *, profiles: Collection[str], clock: datetime
) -> Query | InvalidInputError:
    try:
        if request.HasField("scope"):
            raise InvalidInputError("scope", OWN_SCOPE)  # noqa: TRY301 - handled like every other error
        request.scope.CopyFrom(scope)
        return query_of(request, profiles=profiles, clock=clock)
    except InvalidInputError as error:
        return error


def _result(outcome: Outcome) -> recall_pb2.RecallResult:
    if isinstance(outcome, recall_pb2.RecallResponse):
        return recall_pb2.RecallResult(response=outcome)
    status, message = outcome
    code: int = status.value[0]
    return recall_pb2.RecallResult(error=recall_pb2.RecallError(code=code, message=message))
