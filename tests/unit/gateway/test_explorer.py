"""What the pages of the explorer show, and how they treat texts of others."""

import asyncio
import hashlib
import html
import json
import re
from datetime import UTC, datetime
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from helix_gateway.explorer import signing_in
from helix_gateway.explorer.asked import memory_id
from helix_gateway.explorer.broker import Broker
from helix_gateway.explorer.pages.layout import rings
from helix_gateway.explorer.pages.letters import SHOWN_CHARACTERS
from helix_gateway.explorer.pages.scores import score_of
from helix_gateway.explorer.rendering import FILES_HEADER, HEADERS
from helix_gateway.explorer.shown import shown
from helix_memory.client.pages import EntityPage, MemoryPage, SessionPage
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError, TemporaryError
from tests.unit.gateway.explorers import HIDDEN, HOSTILE, ID, LETTER, OTHER, OWN, Letters, Memories
from tests.unit.gateway.gateways import StubHelix, client_of


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead letter; NATS is not what these tests are about."""
    for name in ("letters", "letter", "streams"):
        monkeypatch.setattr(Broker, name, getattr(Letters, name))


PAGES = (
    "", "/memories", "/memories?q=tea", f"/memories/{ID}", f"/memories/{ID}?whole=1", "/timeline",
    "/sessions",    "/sessions/s1", "/lab?q=tea&a=helix&b=engram", f"/lab/why-not/{ID}?q=tea", "/graph",
    f"/graph?around={ID}&hops=2", "/letters", "/letters/5", "/login", f"/memories/{OTHER}",
)  # fmt: skip


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE * 700, "x" * 100_000, "\u202e" * 5_000], ids=len)
async def test_texts_of_others_are_shown_and_never_run(text: str) -> None:
    """On every page: no markup of theirs, nothing hidden or turned around; lists cut them."""
    async with client_of(Memories(text)) as client:
        for path in PAGES:
            answer = await client.get(f"/explorer{path}")
            assert answer.status_code in (200, 404), path
            body = _without_fields(answer.text)
            for broken in ("<script>alert", "<img", "onerror=alert(1)>", "</bdi></svg>"):
                assert broken not in body, (path, broken)
            assert not HIDDEN.search(body), path
            if "whole" not in path and "/lab" not in path:
                assert len(answer.text) < 160_000, path


def _without_fields(page: str) -> str:
    """A page without what a form sends back as it is, where nothing may be replaced."""
    page = re.sub(r"<textarea.*?</textarea>", "", page, flags=re.DOTALL)
    return re.sub(r"(value|href)=\"[^\"]*\"", "", page)


def test_what_is_hidden_is_named() -> None:
    """A run of the same character is one mark; what is right to left stays readable, and isolated."""
    html = shown("a\x00\x00\x00b\u202ec \u05e9\u05dc\u05d5\u05dd <i>\r\n")
    assert "^@\N{MULTIPLICATION SIGN}3" in html
    assert ">RLO<" in html
    assert html.startswith("<bdi>")
    assert "\u05e9\u05dc\u05d5\u05dd &lt;i&gt;\n" in html
    assert shown("x" * 300, 280).count("x") == 280


async def test_a_long_body_is_cut_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markup of hidden characters is many times as long as these."""

    async def letter(*_: Any) -> tuple[Any, bytes]:
        return LETTER, ("\u202e\u200b" * 30_000).encode()

    monkeypatch.setattr(Broker, "letter", letter)
    async with client_of(Memories()) as client:
        answer = await client.get("/explorer/letters/5")
    assert answer.text.partition("<h2>Body")[2].count(">RLO<") == SHOWN_CHARACTERS // 2
    assert "has all" in answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/static/none.js"), ("GET", "/static/vendor"), ("POST", "/static/explorer.js"),
        ("POST", "/memories"),
    ],
)  # fmt: skip
async def test_what_is_not_there_is_a_page_that_says_so(method: str, path: str) -> None:
    """Neither a fault of the gateway nor a page without its headers."""
    async with client_of(Memories()) as client:
        answer = await client.request(method, f"/explorer{path}", headers=OWN if method == "POST" else {})
    assert answer.status_code == 404
    assert "Not found" in answer.text
    assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("typed", ["/", "/explorer/"])
async def test_the_first_page_is_found_as_people_type_it(typed: str, tokens: dict[str, Any]) -> None:
    """The address of the gateway alone, or with a slash; signing in comes after."""
    async with client_of(Memories(), **tokens) as client:
        answer = await client.get(typed)
    assert (answer.status_code, answer.headers["location"]) == (303, "/explorer")


async def test_no_page_runs_other_code_or_is_kept_or_framed() -> None:
    """The headers, and that no page needs an exception from them."""
    inline = re.compile(
        r"<script(?![^>]*\bsrc=)|<style|<[^>]*\s(style|on\w+)=|<[^>]*javascript:", re.IGNORECASE
    )
    async with client_of(Memories()) as client:
        for path in (*PAGES, "/nothing"):
            answer = await client.get(f"/explorer{path}")
            assert HEADERS.items() <= {**answer.headers, **_named(answer.headers)}.items(), path
            assert not inline.search(answer.text), path
        static = await client.get("/explorer/static/explorer.js")
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert static.headers["x-content-type-options"] == "nosniff"


def _named(headers: httpx.Headers) -> dict[str, str]:
    return {name: headers[name] for name in HEADERS if name in headers}


async def test_a_search_is_a_plain_recall_that_does_not_count_as_use() -> None:
    """An explanation of every candidate takes many times as long."""
    helix = Memories()
    async with client_of(helix) as client:
        await client.get("/explorer/memories?q=tea&type=decision")
    expected = {"top_k": 50, "never_skip": True, "not_served": True, "types": ["decision"]}
    assert helix.done == [("recall", "tea", expected)]


async def test_every_time_of_a_page_is_in_the_zone_that_it_names() -> None:
    """Also those of dead letters, which NATS gives in UTC, and of the chart."""
    async with client_of(Memories()) as client:
        scope = signing_in.encoded(json.dumps({"time_zone": "Asia/Tokyo"}))
        client.cookies.set("helix_scope", scope, "127.0.0.1", "/explorer")
        for path in ("/letters", "/letters/5", f"/memories/{ID}"):
            assert "2026-11-02 18:00" in (await client.get(f"/explorer{path}")).text, path
        assert 'data-zone="Asia/Tokyo"' in (await client.get("/explorer")).text


async def test_filters_and_pages_reach_the_client() -> None:
    """A date begins at midnight of the viewer's zone; bad input names its field."""
    helix = Memories()
    async with client_of(helix) as client:
        answer = await client.get(
            "/explorer/memories?type=decision&since=2026-01-02&order=oldest&size=7&project="
            "&flag=secret&flag=invisible&without=instruction"
        )
        assert "page=n%2B1" in answer.text
        ticked = re.findall(r'name="(flag|without)" value="(\w+)" checked', answer.text)
        assert ticked == [("flag", "secret"), ("flag", "invisible"), ("without", "instruction")]
        for bad in ("size=0", "size=x", "since=soon", "changed=zz", "since=0001-01-01T00:00%2B23:00"):
            refused = await client.get(f"/explorer/memories?{bad}")
            assert refused.status_code == 400
            assert bad.partition("=")[0] in refused.text
    [(_, options)] = [one for one in helix.done if one[0] == "list"][:1]
    assert options == {
        "types": ["decision"], "event_after": datetime(2026, 1, 2, tzinfo=UTC), "order": "oldest",
        "page_size": 7, "flags": ["secret", "invisible"], "exclude_flags": ["instruction"],
    }  # fmt: skip


async def test_the_lab_asks_both_profiles_and_serves_nothing() -> None:
    """Side by side, each score with its words; the proposal can be tried by a link."""
    helix = Memories()
    async with client_of(helix) as client:
        both = await client.get("/explorer/lab?q=tea&a=helix&b=engram")
        missing = await client.get(f"/explorer/lab/why-not/{ID}?q=tea&a=helix")
    profiles = [options["ranking_profile"] for _, _, options in helix.done]
    assert profiles == ["helix", "engram", "helix"]
    assert both.text.count("Which words matched which") == 2
    assert "k=20" in missing.text


async def test_links_of_the_lab_keep_what_was_asked() -> None:
    """Why-not asks as the side did, and both the way back and the proposal have the other parameters."""
    helix = Memories()
    kept = {"q": "tea", "a": "helix", "b": "engram", "k": "7", "as_of": "2026-06-30", "never_skip": "1"}
    async with client_of(helix) as client:
        both = await client.get("/explorer/lab", params={**kept, "missing": ID})
        of_b = [one for one in _links(both.text, "/lab/why-not/") if one["side"] == "b"]
        assert of_b == [kept | {"side": "b"}]
        page = (await client.get(f"/explorer/lab/why-not/{ID}", params=of_b[0])).text
    assert _links(page, "/lab?") == [kept, kept | {"q": 'what "tea"?', "k": "20"}]
    options = {name: value for name, value in helix.done[1][2].items() if name != "explained_candidates"}
    assert helix.done[-1] == ("why_not", "tea", options)
    assert helix.done[-1][2] == {
        "top_k": 7, "ranking_profile": "engram", "as_of": datetime(2026, 6, 30, tzinfo=UTC),
        "never_skip": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "tried"),
    [
        ({"never_skip": True}, {"never_skip": "1"}),
        ({"never_skip": True, "top_k": 20}, {"never_skip": "1", "k": "20"}),
        ({"ranking_profile": "engram"}, {"a": "engram"}),
        ({"never_skip": True, "filter.types": None}, None),
    ],
)
async def test_a_proposal_that_the_lab_has_fields_for_can_be_tried(
    changes: dict[str, Any], tried: dict[str, str] | None
) -> None:
    """The link sets each of them; there is none where the lab cannot ask so."""
    helix = Memories()
    helix.changes = [
        recall_pb2.Change(request_field=name, value=json.dumps(value)) for name, value in changes.items()
    ]
    kept = {"q": "thanks!", "a": "helix", "k": "10"}
    async with client_of(helix) as client:
        page = (await client.get(f"/explorer/lab/why-not/{ID}", params=kept)).text
    assert _links(page, "/lab?") == [kept, *([kept | tried] if tried else [])]


def _links(page: str, path: str) -> list[dict[str, str]]:
    """The parameters of the links of a page below a path."""
    addresses = [html.unescape(one) for one in re.findall(r'href="([^"]*)"', page)]
    return [dict(parse_qsl(urlsplit(one).query)) for one in addresses if one.startswith(f"/explorer{path}")]


async def test_why_not_tells_of_a_memory_that_is_not_there_any_more() -> None:
    """A forgotten or replaced one is what it is asked about."""
    async with client_of(Memories()) as client:
        answer = await client.get(f"/explorer/lab/why-not/{OTHER}?q=tea")
    assert answer.status_code == 200
    assert "top k" in answer.text


async def test_a_page_stands_when_a_service_does_not() -> None:
    """The overview says what is away; another page says that, too, with its status."""

    async def away(*_: Any, **__: Any) -> None:
        raise TemporaryError("the query service does not answer")

    async with client_of(StubHelix(away), nats_url="nats://127.0.0.1:1") as client:
        overview, listed = await asyncio.gather(client.get("/explorer"), client.get("/explorer/memories"))
    assert overview.status_code == 200
    assert "the query service does not answer" in overview.text
    assert listed.status_code == 503


async def test_an_unknown_error_tells_nothing() -> None:
    """Its message may quote a memory."""

    async def fails(*_: Any, **__: Any) -> None:
        message = "the secret text"
        raise RuntimeError(message)

    async with client_of(StubHelix(fails)) as client:
        answer = await client.get("/explorer/memories")
    assert answer.status_code == 500
    assert "secret" not in answer.text


async def test_a_tenant_without_memories_reads_how_to_keep_the_first_one() -> None:
    """On the pages where people look for them; a filter that nothing passes is another matter."""

    class Nothing(Memories):
        async def list(self, **_: Any) -> MemoryPage:
            return MemoryPage.of(recall_pb2.ListMemoriesResponse())

    async with client_of(Nothing()) as client:
        for path in ("", "/memories"):
            page = (await client.get(f"/explorer{path}", headers={"Helix-Tenant": "acme"})).text
            assert "helix publish --tenant acme --text" in page, path
        filtered = (await client.get("/explorer/memories?type=code")).text
        assert "No memory passes these filters" in filtered
        assert "helix publish" not in filtered


async def test_parts_of_a_score_that_change_nothing_are_named_alone() -> None:
    """A table of twelve parts hid the two that decided."""
    candidate = recall_pb2.Candidate(
        method="blend",
        relevance=0.5,
        boosts=[recall_pb2.Factor(name="pinned", value=1.0), recall_pb2.Factor(name="window", value=1.2)],
        steps=[
            recall_pb2.Step(name="speech_act", value=1.0),
            recall_pb2.Step(name="answer", value=0.0, adds=True),
            recall_pb2.Step(name="newer", value=0.25, adds=True),
        ],
        signals=[
            recall_pb2.Signal(name="fused"),
            recall_pb2.Signal(name="cosine"),
            recall_pb2.Signal(name="sim", weight=1.0),
        ],
    )
    found = score_of(candidate)
    assert [one.name for one in found.parts] == ["relevance", "window", "newer"]
    assert found.unchanged == ["pinned", "speech_act", "answer"]
    assert [one.name for one in found.signals] == ["sim"]
    assert found.parts[-1].after == 0.5 * 1.2 + 0.25


def test_vendored_files_are_those_that_were_published() -> None:
    """Each with name, version, licence and digest; nothing else lies there."""
    folder = resources.files("helix_gateway.explorer") / "static" / "vendor"
    listed = {"manifest.json"}
    for one in json.loads((folder / "manifest.json").read_text()):
        assert {"name", "version", "licence"} <= one.keys()
        assert any("LICENSE" in name for name in one["files"])
        for name, digest in one["files"].items():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
            listed.add(name)
    assert {one.name for one in folder.iterdir()} == listed


async def test_the_address_of_a_file_changes_with_the_file() -> None:
    """So a browser may keep it and shows no old script after an upgrade; others it asks for again."""
    async with client_of(Memories("tea")) as client:
        found = re.findall(r'(?:href|src)="(/explorer/static/[^"]+)"', (await client.get("/explorer")).text)
        for address in found:
            answer = await client.get(html.unescape(address))
            digest = hashlib.sha256(answer.content).hexdigest()[:16]
            assert address.endswith(f"?v={digest}"), address
            assert "immutable" in answer.headers["cache-control"]
            for old in (address.partition("?")[0], address[:-4] + "0000"):
                assert (await client.get(old)).headers["cache-control"] == "no-cache"
    assert len(found) == 6


async def test_a_tab_with_older_scripts_loads_the_next_page_as_a_whole() -> None:
    """Its script replaces the body alone, so it would work with the scripts of the release before."""
    async with client_of(Memories("tea")) as client:
        stated = re.search(r"hx-headers='([^']+)'", (await client.get("/explorer")).text)
        assert stated is not None
        of_today = {"HX-Request": "true", "HX-Boosted": "true", **json.loads(html.unescape(stated[1]))}
        found = await client.get("/explorer/memories?type=fact", headers=of_today)
        older = await client.get("/explorer/memories?type=fact", headers={**of_today, FILES_HEADER: "older"})
    assert "HX-Redirect" not in found.headers
    assert (older.headers["HX-Redirect"], older.text) == ("/explorer/memories?type=fact", "")


async def test_improbable_relations_are_drawn_as_such() -> None:
    """A relation that is more likely not so is dashed and counted."""
    pairs = (("UPDATES", 0.12), ("UPDATES", 0.9), ("MENTIONS", 0.3), ("EXTENDS", 0.49))

    class Related(Memories):
        async def neighbours(self, **_: Any) -> recall_pb2.NeighboursResponse:
            reply = await super().neighbours()
            edges = [
                recall_pb2.GraphEdge(source=0, target=1, kind=kind, weight=weight) for kind, weight in pairs
            ]
            return recall_pb2.NeighboursResponse(nodes=reply.nodes, edges=edges)

    async with client_of(Related("tea")) as client:
        page = (await client.get(f"/explorer/graph?around={ID}")).text
    drawn = re.findall(r'class="edge k-(\w+)( unlikely)?".*?<title>(.*?)</title>', page)
    assert drawn == [
        ("updates", " unlikely", "updates 0.12, unlikely"),
        ("updates", "", "updates 0.90"),
        ("mentions", "", "mentions 0.30"),
        ("extends", " unlikely", "extends 0.49, unlikely"),
    ]
    assert "2 unlikely (dashed)" in page


@pytest.mark.parametrize(("count", "shown_as"), [(2, "2"), (16_383, "16,383"), (16_384, "16,384 or more")])
async def test_a_count_at_its_limit_says_or_more(count: int, shown_as: str) -> None:
    """A list counts so many memories of a session or an entity at most."""

    class Counted(Memories):
        async def sessions(self, **_: Any) -> SessionPage:
            return SessionPage.of(
                recall_pb2.ListSessionsResponse(
                    sessions=[recall_pb2.SessionSummary(session_id="s1", memories=count)]
                )
            )

        async def entities(self, **_: Any) -> EntityPage:
            return EntityPage.of(
                recall_pb2.ListEntitiesResponse(
                    entities=[recall_pb2.EntitySummary(name="tea", memories=count)]
                )
            )

    async with client_of(Counted("tea")) as client:
        for path in ("/explorer/sessions", "/explorer/graph"):
            assert f'<td class="n">{shown_as}</td>' in (await client.get(path)).text


def test_a_graph_has_one_picture_without_two_nodes_in_one_place() -> None:
    """Also with as many nodes as a graph may have."""
    hops = [0, *[1] * 60, *[2] * 89]
    edges = [(0, node) for node in range(1, 61)] + [(1 + node % 60, node) for node in range(61, 150)]
    layout = rings(hops, edges)
    assert layout == rings(hops, edges)
    places = [(one.x, one.y) for one in layout.places]
    assert len(set(places)) == 150
    assert all(max(abs(x), abs(y)) <= layout.radius for x, y in places)


def test_a_value_that_is_no_id_is_refused() -> None:
    """Before it reaches anything."""
    for wrong in ("", "a" * 31, "a" * 32 + "\n", "A" * 32, "../" + "a" * 29):
        with pytest.raises(InvalidInputError):
            memory_id("id", wrong)
