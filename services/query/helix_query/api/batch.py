"""A batch of recalls: its requests checked one by one, and its results put back in their order.

What is wrong with one request is that request's result and nobody else's; what is wrong with the batch
itself refuses all of it. `handlers` runs what is to be run between the two.
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
"""Status and message of a request without an answer."""
Outcome = recall_pb2.RecallResponse | Refused

OWN_SCOPE: Final = "must be left out: the scope of the batch counts"


def queries_of(
    batch: recall_pb2.BatchRecallRequest, *, profiles: Collection[str], clock: datetime
) -> list[Query | InvalidInputError]:
    """The question of each request, or what is wrong with it; all are asked at `clock`.

    Raises:
        InvalidInputError: there are none, or too many.
    """
    if not 1 <= len(batch.requests) <= limits.BATCH_RECALLS:
        count = len(batch.requests)
        raise InvalidInputError("requests", f"must have 1 to {limits.BATCH_RECALLS} entries, not {count}")
    return [_query_of(batch.scope, one, profiles=profiles, clock=clock) for one in batch.requests]


def batch_response(outcomes: Sequence[Outcome], *, generation: int) -> recall_pb2.BatchRecallResponse:
    """The reply to a batch."""
    return recall_pb2.BatchRecallResponse(results=map(_result, outcomes), generation=generation)


def in_order(
    asked: Sequence[Query | InvalidInputError],
    answers: Iterator[recall_pb2.RecallResponse | BaseException],
) -> list[recall_pb2.RecallResponse | BaseException]:
    """What was refused in its place, and the next of `answers` for each question."""
    return [next(answers) if isinstance(one, Query) else one for one in asked]


def _query_of(
    scope: recall_pb2.Scope, request: recall_pb2.RecallRequest, *, profiles: Collection[str], clock: datetime
) -> Query | InvalidInputError:
    try:
        if request.HasField("scope"):
            raise InvalidInputError("scope", OWN_SCOPE)  # noqa: TRY301 - one way to a result
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
