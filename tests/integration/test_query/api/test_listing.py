"""Lists: their pages together are what a recall of the caller could return, in order, and nothing else."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_query.listing import pages

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)

HOSTILE = ("' OR 1=1 --", "ada%", "%", "ada ", "ada\u202e", "*", "\u0430da", "x" * 256)
"""User names that a careless query would mistake for another or for everybody."""
OWNERS = ("", "ada", "bob", *HOSTILE)
SPEAKERS = ("", "Ana", "ANA", "Anab\u00e9l")
TENANTS = ("acme", "acme2", "ACME")
AUDIENCES = (["*"], ["ops"], ["dev", "ops"])


def rows() -> list[dict[str, Any]]:
    """Memories of tenants, owners, access lists and sessions; some hidden, expired or not yet valid."""
    return [
        {
            "name": f"n{n}",
            "text": f"note {n} about the garden",
            "tenant_id": TENANTS[n % 7 % 3],
            "owner": OWNERS[n % len(OWNERS)],
            "user_id": OWNERS[n % len(OWNERS)],
            "audience": AUDIENCES[n // 3 % 3],
            "type": ("episodic", "decision")[n % 2],
            "session_id": ("", "s1", "s2", "s3")[n // 2 % 4],
            "speaker": SPEAKERS[n // 3 % 4],
            "occurred_at": NOW - timedelta(days=n * 37 % 50),
            "created_at": NOW - timedelta(days=60),
            "hidden": n % 13 == 0,
            "expires_at": NOW if n % 17 == 0 else None,
            "valid_from": NOW + timedelta(days=100_000) if n % 19 == 0 else None,
        }
        for n in range(330)
    ]


@pytest.fixture(scope="module")
def listed(told: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service with the rows in three segments, some of them written twice."""
    made = rows()
    with told(tmp_path_factory.mktemp("listed"), made[:200], made[200:], made[100:250]) as stub:
        yield stub


def expected(tenant: str, user: str = "", principals: tuple[str, ...] = (), **wanted: Any) -> list[str]:
    """Texts of the memories that a caller may see, the newest first; equal times by the log."""
    order = {row["name"]: place for place, row in enumerate(rows())}
    seen = [
        row
        for row in rows()
        if row["tenant_id"] == tenant
        and row["owner"] in {"", user}
        and ("*" in row["audience"] or set(principals) & set(row["audience"]))
        and not (row["hidden"] or row["expires_at"] or row["valid_from"])
        and all(row[name] == value for name, value in wanted.items())
    ]
    newest = sorted(seen, key=lambda row: (row["occurred_at"], order[row["name"]]), reverse=True)
    return [str(row["text"]) for row in newest]


def all_pages(call: Any, request: Any) -> Iterator[Any]:
    """Replies until there is no further page."""
    while True:
        reply = call(request, timeout=10)
        yield reply
        if not reply.next_page_token:
            return
        request.page_token = reply.next_page_token


def texts(call: Any, request: Any) -> list[str]:
    """Texts of all pages."""
    return [one.text for reply in all_pages(call, request) for one in reply.memories]


@pytest.mark.parametrize(
    ("user", "size"), [("", 1), ("ada", 1), *((one, n) for one in OWNERS for n in (7, 200))]
)
def test_pages_hold_what_the_caller_may_recall(listed: Any, user: str, size: int) -> None:
    """Each once, in order; nothing of other users, whatever their names."""
    for tenant in TENANTS:
        scope = {"tenant_id": tenant, "user_id": user, "principals": ["ops"]}
        request = recall_pb2.ListMemoriesRequest(scope=scope, page_size=size)
        newest = expected(tenant, user, ("ops",))
        assert newest
        assert texts(listed.ListMemories, request) == newest
        request = recall_pb2.ListMemoriesRequest(scope=scope, page_size=size, order=recall_pb2.ORDER_OLDEST)
        assert texts(listed.ListMemories, request) == newest[::-1]


def test_an_access_list_holds_for_lists(listed: Any) -> None:
    """Without one of its principals nothing of it appears."""
    request = recall_pb2.ListMemoriesRequest(scope={"tenant_id": "acme", "user_id": "ada"}, page_size=200)
    assert texts(listed.ListMemories, request) == expected("acme", "ada")


def test_a_filter_restricts_a_list(listed: Any) -> None:
    """The filter of a recall, with its errors."""
    scope = {"tenant_id": "acme", "user_id": "ada"}
    for given, wanted in (
        ({"types": ["decision"]}, {"type": "decision"}),
        ({"session_ids": ["s2"]}, {"session_id": "s2"}),
    ):
        request = recall_pb2.ListMemoriesRequest(scope=scope, filter=given, page_size=3)
        assert texts(listed.ListMemories, request) == expected("acme", "ada", **wanted)


def test_a_page_reads_a_bounded_number_of_memories(listed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that stops early names where; the pages together still hold everything."""
    monkeypatch.setattr(pages, "MOST_SCANNED", 10)
    monkeypatch.setattr(pages, "FIRST_CHUNK", 1)
    request = recall_pb2.ListMemoriesRequest(
        scope={"tenant_id": "acme", "user_id": "ada"}, filter={"session_ids": ["s2"]}, page_size=5
    )
    assert texts(listed.ListMemories, request) == expected("acme", "ada", session_id="s2")


def test_a_list_of_a_past_moment(listed: Any) -> None:
    """What had occurred by then."""
    request = recall_pb2.ListMemoriesRequest(
        scope={"tenant_id": "acme"}, valid_at=NOW - timedelta(days=20), page_size=200
    )
    times = {row["text"]: row["occurred_at"] for row in rows()}
    found = texts(listed.ListMemories, request)
    assert found
    assert all(times[one] <= NOW - timedelta(days=20) for one in found)


def test_sessions_are_listed_once_with_what_the_caller_sees(listed: Any) -> None:
    """The one with the newest memory first; counts and times are those of visible memories."""
    for size in (1, 2, 50):
        request = recall_pb2.ListSessionsRequest(
            scope={"tenant_id": "acme", "user_id": "ada"}, page_size=size
        )
        found = [one for reply in all_pages(listed.ListSessions, request) for one in reply.sessions]
        assert sorted(one.session_id for one in found) == ["s1", "s2", "s3"]
        for one in found:
            assert one.memories == len(expected("acme", "ada", session_id=one.session_id))
        newest = [one.last_at.ToDatetime() for one in found]
        assert newest == sorted(newest, reverse=True)


def test_the_timeline_of_a_session_is_in_the_order_of_the_log(listed: Any) -> None:
    """With and without a span."""
    scope = {"tenant_id": "acme", "user_id": "ada"}
    request = recall_pb2.TimelineRequest(scope=scope, session_id="s1", page_size=4)
    in_log = sorted(expected("acme", "ada", session_id="s1"), key=lambda text: int(text.split()[1]))
    assert texts(listed.Timeline, request) == in_log


def test_the_timeline_of_a_span_is_in_the_order_of_time(listed: Any) -> None:
    """From the start until before the end."""
    since, until = NOW - timedelta(days=30), NOW - timedelta(days=10)
    request = recall_pb2.TimelineRequest(
        scope={"tenant_id": "acme", "user_id": "ada"}, after=since, before=until, page_size=4
    )
    times = {row["text"]: row["occurred_at"] for row in rows()}
    inside = [one for one in expected("acme", "ada")[::-1] if since <= times[one] < until]
    assert inside
    assert texts(listed.Timeline, request) == inside


def test_the_timeline_around_a_memory_has_it_in_the_middle(listed: Any) -> None:
    """Half of the page is earlier; a memory of somebody else is not there."""
    scope = {"tenant_id": "acme", "user_id": "ada", "principals": ["ops"]}
    page = listed.ListMemories(
        recall_pb2.ListMemoriesRequest(scope=scope, order=recall_pb2.ORDER_OLDEST, page_size=200)
    )
    middle = page.memories[9]
    reply = listed.Timeline(recall_pb2.TimelineRequest(scope=scope, memory_id=middle.memory_id, page_size=7))
    assert [one.text for one in reply.memories] == [one.text for one in page.memories[6:13]]
    mine = next(one for one in page.memories if one.user_id == "ada")
    with pytest.raises(grpc.RpcError) as refused:
        listed.Timeline(recall_pb2.TimelineRequest(scope={"tenant_id": "acme"}, memory_id=mine.memory_id))
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND


FORGED = base64.urlsafe_b64encode(b"\x01" + bytes(8) + b"\xff" * 16).decode().rstrip("=")


@pytest.mark.parametrize("call", ["ListMemories", "Timeline", "ListSessions"])
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"page_size": 0}, "page_size"),
        ({"page_size": 201}, "page_size"),
        ({"page_token": "x"}, "page_token"),
        ({"page_token": "'; DROP TABLE"}, "page_token"),
        ({"page_token": "A" * 4_000}, "page_token"),
        ({"page_token": FORGED}, "page_token"),
        ({"page_token": "\u00e9"}, "page_token"),
    ],
)
def test_a_bad_page_is_refused_with_its_field(listed: Any, call: str, fields: Any, field: str) -> None:
    """Size and token, of every list."""
    request = getattr(recall_pb2, f"{call}Request")(scope={"tenant_id": "acme"}, **fields)
    with pytest.raises(grpc.RpcError) as refused:
        getattr(listed, call)(request)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert str(refused.value.details()).startswith(f"{field}: ")


def test_a_token_belongs_to_its_list(listed: Any) -> None:
    """Another scope, filter, order or call does not take it; another page size does."""
    scope = {"tenant_id": "acme", "user_id": "ada"}
    token = listed.ListMemories(recall_pb2.ListMemoriesRequest(scope=scope, page_size=2)).next_page_token
    assert listed.ListMemories(
        recall_pb2.ListMemoriesRequest(scope=scope, page_size=3, page_token=token)
    ).memories
    for request in (
        recall_pb2.ListMemoriesRequest(scope={"tenant_id": "acme", "user_id": "bob"}, page_token=token),
        recall_pb2.ListMemoriesRequest(scope=scope, order=recall_pb2.ORDER_OLDEST, page_token=token),
        recall_pb2.ListMemoriesRequest(scope=scope, filter={"types": ["code"]}, page_token=token),
    ):
        with pytest.raises(grpc.RpcError, match="page_token"):
            listed.ListMemories(request)
    with pytest.raises(grpc.RpcError, match="page_token"):
        listed.ListSessions(recall_pb2.ListSessionsRequest(scope=scope, page_token=token))
