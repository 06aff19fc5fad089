"""Ids that are looked up together, with a real service."""

from datetime import timedelta
from itertools import islice
from typing import Any

import grpc
import pytest

from helix_memory import limits
from helix_memory.recall.v1 import recall_pb2
from helix_query.api.responses import found_ids
from helix_shared.identity import memory_id
from tests.integration.test_query.corpus import NOW

pytestmark = pytest.mark.integration

SCOPE = recall_pb2.Scope(tenant_id="acme", user_id="ana")
NOBODY = "f" * 32


def replaced(name: str, by: str) -> dict[str, Any]:
    """A memory that another one replaced."""
    later = {"hidden": True, "is_latest": False, "superseded_by": memory_id("acme", f"acme/{by}", 0)}
    return {"text": f"It was {name}.", "name": name, **later}


GONE = {"hidden": True, "deleted_at": NOW, "deleted_by": 7}
ROWS: list[dict[str, Any]] = [
    {"text": "The port is 5432.", "name": "shown"},
    {"text": "Ana keeps the key.", "name": "own", "user_id": "ana", "owner": "ana"},
    {"text": "The offer ended.", "name": "expired", "expires_at": NOW - timedelta(days=1)},
    {"text": "The plant is a ficus.", "name": "forgotten", **GONE},
    {"text": "The cactus is Spike.", "name": "erasing", "erasing": True, **GONE},
    {"text": "Nobody asked for it.", "name": "decayed", "hidden": True, "decayed_at": NOW},
    replaced("replaced", "shown"),
    replaced("replaced by a secret", "secret"),
    {"text": "Bob keeps the safe.", "name": "secret", "user_id": "bob", "owner": "bob"},
    {"text": "The board agreed.", "name": "board", "audience": ["board"], "acl": ["board"]},
    {"text": "It is of another tenant.", "name": "foreign", "tenant_id": "globex"},
]
LOSSES = {
    "shown": "NONE",
    "own": "NONE",
    "expired": "NOT_VALID",
    "forgotten": "FORGOTTEN",
    "erasing": "ERASED",
    "decayed": "DECAYED",
    "replaced": "REPLACED",
    "replaced by a secret": "REPLACED",
}
"""What hides the memories of the caller."""


@pytest.fixture
def served(corpus: Any, in_process: Any) -> tuple[Any, dict[str, str]]:
    """A service, and the ids of its memories by name."""
    ids = corpus.add([dict(row) for row in ROWS])
    corpus.publish()
    service = in_process(corpus.root, deadline_seconds=10, channel_deadline_seconds=5)
    return service, dict(zip([row["name"] for row in ROWS], ids, strict=True))


def find(service: Any, *prefixes: str) -> recall_pb2.FindIdsResponse:
    """The reply of one call."""
    first, *more = prefixes
    request = recall_pb2.FindIdsRequest(scope=SCOPE, prefix=first, more_prefixes=more)
    reply: recall_pb2.FindIdsResponse = service.stub.FindIds(request, timeout=10)
    return reply


@pytest.mark.parametrize("at_once", [3, 50])
def test_ids_that_are_asked_for_together_are_told_as_each_alone(
    served: Any, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Whole ids and beginnings, twice the same, of nobody and of others; with what hides each memory."""
    monkeypatch.setattr(found_ids, "PREFIXES_PER_CONDITION", at_once)
    service, ids = served
    given = [*ids.values(), NOBODY, *(one[:8].upper() for one in ids.values()), ids["shown"]]
    given += [ids["own"][:digits] for digits in (4, 31)] + [NOBODY[:5]]
    together = find(service, *given)
    assert len(together.more) == len(given) - 1
    assert together.applied_sequence == 10
    for asked, found in zip(given, (together, *together.more), strict=True):
        alone = find(service, asked)
        assert (found.memory_ids, found.states, found.truncated) == (alone.memory_ids, alone.states, False)
    by_id = {one.memory_ids[0]: one.states[0] for one in (together, *together.more) if one.memory_ids}
    told = {name: recall_pb2.Loss.Name(by_id[one].loss) for name, one in ids.items() if one in by_id}
    assert told == {name: f"LOSS_{loss}" for name, loss in LOSSES.items()}
    assert {by_id[ids[name]].event_sequence for name in ("forgotten", "erasing")} == {7}
    by = [by_id[ids[name]].replaced_by for name in ("replaced", "replaced by a secret")]
    assert by == [ids["shown"], ""]


def test_each_beginning_says_by_itself_whether_it_begins_more_ids(
    corpus: Any, in_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are shown have their states."""
    monkeypatch.setattr(found_ids, "IDS_FOUND", 2)
    names = map(str, range(10**7))
    alike = islice((one for one in names if memory_id("acme", f"acme/{one}", 0).startswith("abcd")), 3)
    ids = corpus.add([{"text": f"Note {name}.", "name": name} for name in (*alike, "other")])
    corpus.publish()
    reply = find(in_process(corpus.root, deadline_seconds=10), ids[-1][:4], "abcd")
    assert (list(reply.memory_ids), reply.truncated) == ([ids[-1]], False)
    [more] = reply.more
    assert (list(more.memory_ids), more.truncated) == (sorted(ids[:3])[:2], True)
    assert list(more.states) == [recall_pb2.MemoryState(loss=recall_pb2.LOSS_NONE)] * 2


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["0" * 32] * (limits.ID_PREFIXES + 1), "more_prefixes: must have at most 1000 entries"),
        (["abc"], "more_prefixes: must be 4 to 32 hexadecimal digits"),
        (["abcd", "tea!"], "more_prefixes: must be 4 to 32 hexadecimal digits"),
    ],
)
def test_more_ids_than_a_call_may_name_are_refused(served: Any, more: list[str], reason: str) -> None:
    """And what is no beginning of an id."""
    with pytest.raises(grpc.RpcError) as refused:
        find(served[0], "abcd", *more)
    assert (refused.value.code(), reason in str(refused.value.details())) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        True,
    )
