"""Lists of what a speaker said."""

from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_query.api import listing_calls

from .test_listing import all_pages, expected, listed, texts

pytestmark = pytest.mark.integration

__all__ = ["listed"]


@pytest.mark.parametrize(
    ("speakers", "stored"),
    [
        (["ana"], {"Ana", "ANA"}),
        (["ANAB\u00c9L", "nobody"], {"Anab\u00e9l"}),
        ([""], {""}),
        (["an"], set()),
        (["*"], set()),
    ],
)
def test_a_list_of_what_one_person_said(listed: Any, speakers: list[str], stored: set[str]) -> None:
    """The whole name in any case of letters, on every page; other filters and the scope hold as well."""
    scope = recall_pb2.Scope(tenant_id="acme", user_id="ada", principals=["ops"])
    for size, more in ((3, {}), (200, {"types": ["decision"]})):
        request = recall_pb2.ListMemoriesRequest(
            scope=scope, speakers=speakers, page_size=size, filter=recall_pb2.Filter(**more)
        )
        wanted = {"type": "decision"} if more else {}
        said = {text for one in stored for text in expected("acme", "ada", ("ops",), speaker=one, **wanted)}
        order = expected("acme", "ada", ("ops",), **wanted)
        assert texts(listed.ListMemories, request) == [one for one in order if one in said]
        assert bool(said) == bool(stored)


def test_a_speaker_belongs_to_the_list_of_a_token(listed: Any) -> None:
    """The token of one speaker's list is refused for another's, as are too many or too long names."""
    scope = recall_pb2.Scope(tenant_id="acme", user_id="ada")
    first = listed.ListMemories(
        recall_pb2.ListMemoriesRequest(scope=scope, speakers=["ana"], page_size=1), timeout=10
    )
    refused = {
        "page_token": {"speakers": ["other"], "page_token": first.next_page_token},
        "speakers: must have at most 64": {"speakers": [f"s{n}" for n in range(65)]},
        "speakers: must have at most 256": {"speakers": ["x" * 257]},
    }
    for reason, fields in refused.items():
        with pytest.raises(grpc.RpcError) as raised:
            listed.ListMemories(recall_pb2.ListMemoriesRequest(scope=scope, **fields), timeout=10)
        assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert reason in raised.value.details(), raised.value.details()


def test_a_rare_speaker_gives_short_pages(listed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page reads a bounded number of records, and all pages together have what that speaker said."""
    monkeypatch.setattr(listing_calls, "MOST_RECORDS", 4)
    request = recall_pb2.ListMemoriesRequest(
        scope={"tenant_id": "acme", "user_id": "ada"}, speakers=["ana"], page_size=10
    )
    replies = list(all_pages(listed.ListMemories, request))
    assert any(reply.next_page_token and len(reply.memories) < 10 for reply in replies)
    said = {*expected("acme", "ada", speaker="Ana"), *expected("acme", "ada", speaker="ANA")}
    found = [one.text for reply in replies for one in reply.memories]
    assert found == [one for one in expected("acme", "ada") if one in said]
