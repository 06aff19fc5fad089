"""Lists of what says just a text, with a real service."""

from datetime import timedelta
from typing import Any

import grpc
import pytest

from helix_memory import limits
from helix_memory.recall.v1 import recall_pb2
from tests.integration.test_query.corpus import NOW

from .test_listing import all_pages

pytestmark = pytest.mark.integration

SCOPE = recall_pb2.Scope(tenant_id="acme", user_id="ana")
SAID = "Tea is at four."


def row(name: str, text: str = SAID, **fields: Any) -> dict[str, Any]:
    """A memory with a name; each happened an hour after the one before."""
    return {"name": name, "text": text, **fields}


ROWS: list[dict[str, Any]] = [
    row("first"),
    row("other case", "TEA is at FOUR."),
    row("other spaces", " Tea  is\nat four. "),
    row("own", user_id="ana", owner="ana"),
    row("titled", title="Mill", speaker="Bo"),
    row("longer", "Tea is at four. Bring cups."),
    row("another", "Tea is at five."),
    row("quoted", "It's '); DROP TABLE memories; --"),
    row("forgotten", hidden=True, deleted_at=NOW, deleted_by=7),
    row("replaced", hidden=True, is_latest=False, superseded_by="a" * 32),
    row("secret", user_id="bob", owner="bob"),
    row("board", audience=["board"], acl=["board"]),
    row("foreign", tenant_id="globex"),
]
SHOWN = ["titled", "own", "other spaces", "other case", "first"]
"""What says it, the newest first."""


@pytest.fixture
def served(corpus: Any, in_process: Any) -> tuple[Any, dict[str, str]]:
    """A service, and names of its memories by id."""
    rows = [one | {"occurred_at": NOW + timedelta(hours=hour)} for hour, one in enumerate(ROWS)]
    ids = corpus.add([dict(one) for one in rows])
    corpus.publish()
    service = in_process(corpus.root, deadline_seconds=10)
    return service, dict(zip(ids, [one["name"] for one in ROWS], strict=True))


@pytest.mark.parametrize("size", [1, 2, 200])
def test_a_list_of_what_says_just_a_text(served: Any, size: int) -> None:
    """In any case of letters and with any white space, on every page, of what the caller may recall."""
    service, names = served

    def listed(texts: list[str], **fields: Any) -> list[str]:
        request = recall_pb2.ListMemoriesRequest(scope=SCOPE, texts=texts, page_size=size, **fields)
        replies = list(all_pages(service.stub.ListMemories, request))
        assert len(replies) <= max(1, sum(len(reply.memories) for reply in replies))
        return [names[one.memory_id] for reply in replies for one in reply.memories]

    assert listed([SAID]) == SHOWN
    assert listed(["tea IS at\tfour."], order=recall_pb2.ORDER_OLDEST) == SHOWN[::-1]
    assert listed([SAID, "Tea is at five.", SAID]) == ["another", *SHOWN]
    assert listed([ROWS[7]["text"]]) == ["quoted"]
    assert listed(["Tea is at", "' OR 1=1 --"]) == []
    assert listed([SAID], speakers=["bo"]) == ["titled"]
    assert listed([SAID], filter={"event_before": NOW + timedelta(hours=2)}) == ["other case", "first"]


def test_texts_belong_to_the_list_of_a_token(served: Any) -> None:
    """The token of one list is refused for another, as are too many, too long or blank texts."""
    service, _ = served
    first = service.stub.ListMemories(
        recall_pb2.ListMemoriesRequest(scope=SCOPE, texts=[SAID], page_size=1), timeout=10
    )
    refused = {
        "page_token": {"texts": ["other"], "page_token": first.next_page_token},
        "texts: must have at most 200 entries": {"texts": ["x"] * (limits.LISTED_TEXTS + 1)},
        "texts: must have at most 100000 characters": {"texts": ["x" * (limits.TEXT_CHARACTERS + 1)]},
        "texts: must hold more than white space": {"texts": [SAID, " "]},
    }
    for reason, fields in refused.items():
        with pytest.raises(grpc.RpcError) as raised:
            service.stub.ListMemories(recall_pb2.ListMemoriesRequest(scope=SCOPE, **fields), timeout=10)
        assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert reason in raised.value.details(), raised.value.details()
