"""Requests to the query service: the plain recall, and lists for other texts in the same scope."""

from __future__ import annotations

from dataclasses import dataclass

from helix_memory.recall.v1 import recall_pb2


@dataclass(frozen=True, slots=True)
class Search:
    """A text to search for."""

    text: str
    is_dense: bool = False
    """By vectors alone: an imagined memory has words that nobody said."""


def plain_request(recall: recall_pb2.RecallRequest) -> recall_pb2.RecallRequest:
    """The caller's own request without its scope, which a batch has once.

    Its memories count as served when they are packed.
    """
    request = recall_pb2.RecallRequest()
    request.CopyFrom(recall)
    request.ClearField("scope")
    request.not_served = True
    return request


def wide_request(recall: recall_pb2.RecallRequest, *, top_k: int) -> recall_pb2.RecallRequest:
    """The same question for a longer list that nobody reads as a prompt."""
    request = plain_request(recall)
    request.top_k, request.token_budget = top_k, 1
    request.explain = request.include_profile = False
    request.expand_context = recall_pb2.EXPAND_CONTEXT_NONE
    return request


def search_request(
    recall: recall_pb2.RecallRequest, search: Search, *, top_k: int
) -> recall_pb2.RecallRequest:
    """A list for another text, with the filter, times and ranking profile of the caller.

    It may hold what the caller has already: a batch has no room for that many ids in each request.
    """
    request = wide_request(recall, top_k=top_k)
    request.ClearField("already_served")
    request.query, request.never_skip, request.min_seq = search.text, True, 0
    if search.is_dense:
        request.mode = recall_pb2.MODE_DENSE
    return request
