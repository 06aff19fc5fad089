"""What a person reads on the pages of the explorer: words, names, links that lead on."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from helix_gateway.explorer.broker import Broker
from helix_gateway.explorer.pages.scores import score_of
from helix_gateway.explorer.shown import duration, one_line, shown
from helix_memory.client import EntityPage, MemoryPage
from helix_memory.client.results import StoredMemory
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError
from tests.unit.gateway.explorers import ID, NEXT, OTHER, Letters, Memories, memory
from tests.unit.gateway.gateways import client_of


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead letter; NATS is not what these tests are about."""
    for name in ("letters", "letter", "streams"):
        monkeypatch.setattr(Broker, name, getattr(Letters, name))


async def test_a_replaced_memory_is_shown_with_what_replaced_it() -> None:
    """Its history has it, and other pages link to it; what only a served memory has is left out."""

    class Replaced(Memories):
        async def history(self, _: str) -> recall_pb2.GetHistoryResponse:
            old = memory("We deploy on Mondays.", OTHER, superseded_by=ID)
            step = recall_pb2.HistoryRelation(newer_id=ID, older_id=OTHER, relation="CORRECTS", counts=True)
            return recall_pb2.GetHistoryResponse(memories=[old, memory(self.text)], relations=[step])

    async with client_of(Replaced()) as client:
        old = await client.get(f"/explorer/memories/{OTHER}")
        unknown = await client.get(f"/explorer/memories/{'c' * 32}")
    assert old.status_code == 200
    assert "We deploy on Mondays." in old.text
    assert f'replaced this one: <a href="/explorer/memories/{ID}">' in old.text
    for left_out in ("/correct", "/forget", "who may see it", "graph?around="):
        assert left_out not in old.text, left_out
    assert unknown.status_code == 404


def test_marks_on_one_letter_do_not_cover_other_lines() -> None:
    """Four of them are shown, the others counted; letters of languages keep theirs."""
    html = shown("a" + "\u0301" * 40 + "b")
    assert html.count("\u0301") == 4
    assert ">36 marks</span>b" in html
    assert ">1 mark<" in shown("a" + "\u0301\u0302\u0303\u0304\u0305")
    for word in (
        "Tie\u0302\u0301ng Vie\u0323\u0302t",
        "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
        "\u0e17\u0e35\u0e48",
    ):
        assert shown(word) == f"<bdi>{word}</bdi>"
    assert one_line("a" + "\u0301" * 9, 20) == "a" + "\u0301" * 4 + "\ufffd"


async def test_code_is_set_as_code() -> None:
    """In a list, in its session and on its own page; prose is not."""

    class Code(Memories):
        async def get(self, wanted: str) -> StoredMemory:
            return StoredMemory.of_id(_of_type("code", wanted))

        async def list(self, **_: Any) -> MemoryPage:
            found = [_of_type("code", ID), _of_type("episodic", OTHER)]
            return MemoryPage.of(recall_pb2.ListMemoriesResponse(memories=found))

    async with client_of(Code()) as client:
        listed = (await client.get("/explorer/memories")).text
        alone = (await client.get(f"/explorer/memories/{ID}")).text
    assert listed.count('<div class="text code">') == listed.count('<div class="text">') == 1
    assert '<div class="whole code"' in alone


class Named(Memories):
    """An entity with the name that people write, or without one, as an earlier query service gives it."""

    written = "S\u00e3o Paulo"

    async def get(self, wanted: str) -> StoredMemory:
        """A memory that mentions it."""
        shown = [self.written] if self.written else []
        return StoredMemory.of_id(
            memory(self.text, wanted, entities=["sao paulo"], entity_display_names=shown)
        )

    async def entities(self, **_: Any) -> EntityPage:
        """It alone."""
        entity = recall_pb2.EntitySummary(name="sao paulo", display_name=self.written, memories=2)
        return EntityPage.of(recall_pb2.ListEntitiesResponse(entities=[entity]))

    async def neighbours(self, **_: Any) -> recall_pb2.NeighboursResponse:
        """It alone."""
        node = recall_pb2.GraphNode(entity="sao paulo", display_name=self.written)
        return recall_pb2.NeighboursResponse(nodes=[node])


class NotNamed(Named):
    """By an earlier query service."""

    written = ""


@pytest.mark.parametrize(("helix", "shown_as"), [(Named, "S\u00e3o Paulo"), (NotNamed, "sao paulo")])
async def test_entities_have_the_names_that_people_write(helix: type[Named], shown_as: str) -> None:
    """In the list, in the graph and beside a memory; links have the canonical name."""
    async with client_of(helix()) as client:
        pages = [
            (await client.get(f"/explorer{path}")).text
            for path in ("/graph", "/graph?entity=sao+paulo", f"/memories/{ID}")
        ]
    for page in pages:
        assert f'href="/explorer/graph?entity=sao+paulo"><bdi>{shown_as}</bdi></a>' in page
    assert f">Graph around <bdi>{shown_as}</bdi></h1>" in pages[1]
    assert f"<title>{shown_as}</title>" in pages[1]


def _of_type(kind: str, identity: str) -> recall_pb2.Memory:
    found = memory("if a:\n    b()", identity)
    found.type = kind
    return found


async def test_the_title_of_a_page_says_what_it_is_about() -> None:
    """Else ten tabs of a browser and its history are all called the same."""
    async with client_of(Memories("We drink tea.")) as client:
        for path, title in (
            (f"/memories/{ID}", "We drink tea."),
            ("/sessions/s1", "Session s1"),
            (f"/graph?around={ID}", "Graph around We drink tea."),
            ("/graph", "Graph"),
        ):
            assert f"<title>{title} · Helix</title>" in (await client.get(f"/explorer{path}")).text, path


async def test_a_link_to_a_memory_is_named_by_its_text() -> None:
    """Its visible text is a time, which says nothing to who hears the links of a page."""
    async with client_of(Memories("We drink\u200b tea.")) as client:
        for path in ("/memories", "/sessions/s1", f"/memories/{ID}"):
            page = (await client.get(f"/explorer{path}")).text
            assert 'aria-label="2026-11-02 09:00: We drink\ufffd tea."' in page, path


def test_a_length_of_time_has_the_unit_that_people_use() -> None:
    """A service that is up for weeks is not up for 1,814,400 s."""
    lengths = (0, 119, 120, 7_199, 7_200, 172_799, 172_800, 1_814_400)
    assert [duration(one) for one in lengths] == [
        "0 s", "119 s", "2 min", "120 min", "2 h", "48 h", "2 days", "21 days",
    ]  # fmt: skip


async def test_the_timeline_says_which_span_it_shows() -> None:
    """Without one it shows the last month; with a moment of its own, none of them."""
    async with client_of(Memories()) as client:
        for query, current in (("", ["month"]), ("?span=week", ["week"]), ("?since=2026-11-01", [])):
            page = (await client.get(f"/explorer/timeline{query}")).text
            assert re.findall(r'aria-current="true">([^<]+)<', page) == current, query


class Spans(Memories):
    """Keeps the spans of time that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: list[tuple[datetime, datetime]] = []

    async def timeline(self, **options: Any) -> MemoryPage:
        """As every timeline."""
        self.spans.append((options["since"], options["until"]))
        return await super().timeline(**options)

    async def list(self, **options: Any) -> MemoryPage:
        """As every list."""
        self.spans.append((options["event_after"], options["event_before"]))
        return await super().list(**options)


async def test_the_last_day_of_a_span_belongs_to_it() -> None:
    """Until a day means all of that day; a time of day is a moment."""
    helix = Spans()
    async with client_of(helix) as client:
        for path in ("timeline", "memories"):
            page = await client.get(f"/explorer/{path}?since=2026-11-02&until=2026-11-02")
            assert 'name="until" value="2026-11-02"' in page.text
        await client.get("/explorer/timeline?since=2026-11-02&until=2026-11-02T10:00")
    day = datetime(2026, 11, 2, tzinfo=UTC)
    assert helix.spans == [(day, day + timedelta(days=1))] * 2 + [(day, day + timedelta(hours=10))]


@pytest.mark.parametrize(
    "until", ["2026-11-02", "2026-11-02T09:00:45+00:00"], ids=["a day", "the end of a bar"]
)
async def test_the_form_and_the_next_page_of_a_timeline_ask_for_the_same_span(until: str) -> None:
    """A bar spans seconds: a form to the minute would ask for nothing."""

    class Pages(Memories):
        async def timeline(self, **options: Any) -> MemoryPage:
            return replace(await super().timeline(**options), next_page_token=NEXT)

    span = {"since": "2026-11-02T09:00:30+00:00", "until": until}
    async with client_of(Pages()) as client:
        page = (await client.get("/explorer/timeline", params=span)).text
    assert dict(re.findall(r'name="(since|until)" value="([^"]+)"', page)) == span
    later = parse_qs(urlsplit(unescape(re.findall(r'rel="next" href="([^"]+)"', page)[0])).query)
    assert {name: later[name][0] for name in span} == span


async def test_a_timeline_without_memories_says_how_to_keep_the_first_one() -> None:
    """A session or a time that nobody has is another matter."""

    class Nothing(Memories):
        async def list(self, **_: Any) -> MemoryPage:
            return MemoryPage.of(recall_pb2.ListMemoriesResponse())

        async def timeline(self, **_: Any) -> MemoryPage:
            return MemoryPage.of(recall_pb2.TimelineResponse())

    async with client_of(Nothing()) as client:
        empty = (await client.get("/explorer/timeline", headers={"Helix-Tenant": "acme"})).text
        other = (await client.get("/explorer/timeline?session=s9")).text
    assert "helix publish --tenant acme --text" in empty
    assert "No memory is of this time and session." in other
    assert "helix publish" not in other


async def test_a_recall_that_finds_nothing_says_so_in_sentences() -> None:
    """No list with a number, no share that something is relevant."""

    class Nothing(Memories):
        async def explain(self, _: str, **__: Any) -> recall_pb2.RecallResponse:
            return recall_pb2.RecallResponse(
                relevance=0.0, abstained=True, abstained_because="nothing is stored yet",
                route=recall_pb2.Route(reason="rules: when, current_value"),
            )  # fmt: skip

    async with client_of(Nothing()) as client:
        page = (await client.get("/explorer/lab?q=tea")).text
    assert "rules: when, current value" in page
    assert "Nothing is stored yet." in page
    assert "Nothing was found." in page
    assert '<ol class="answer">' not in page
    assert "that one is relevant" not in page


def test_what_is_taken_from_a_score_has_a_minus() -> None:
    """Not a plus before a negative number."""
    signals = [recall_pb2.Signal(name=one) for one in ("fused", "cosine", "sim")]
    steps = [recall_pb2.Step(name="newer", value=one, adds=True) for one in (-0.25, 0.5)]
    found = score_of(recall_pb2.Candidate(method="blend", relevance=0.5, steps=steps, signals=signals))
    assert [one.change for one in found.parts[1:]] == ["\N{MINUS SIGN} 0.25", "+ 0.5"]


async def test_undoing_a_relation_asks_first() -> None:
    """Nothing decides the relation again, so one click must not do it; no script is needed."""
    async with client_of(Memories()) as client:
        page = (await client.get(f"/explorer/memories/{ID}")).text
    [form] = re.findall(r"<details class=\"undo\">(.*?)</details>", page, re.DOTALL)
    assert "taken back for good" in form
    assert page.count("/undo") == form.count("/undo") == 1


@pytest.mark.parametrize(
    ("path", "back"),
    [
        ("/timeline?since=soon", "/timeline"),
        (f"/memories/{'c' * 32}", "/memories"),
        ("/letters/none", "/letters"),
        ("/memoriesx", ""),
    ],
)
async def test_a_page_that_fails_leads_back_to_where_its_viewer_was(path: str, back: str) -> None:
    """To the page without the input that it refused, which is the marked one; not to the first page alone."""

    class Gone(Memories):
        async def history(self, _: str) -> recall_pb2.GetHistoryResponse:
            raise NotFoundError

    async with client_of(Gone()) as client:
        answer = await client.get(f"/explorer{path}")
    assert answer.status_code in (400, 404)
    _, _, content = answer.text.partition("<main")
    assert re.findall(r'<a href="([^"]+)">', content.partition("<footer")[0])[:1] == [f"/explorer{back}"]
    assert re.findall(r'href="([^"]+)"[^>]* aria-current="page"', answer.text) == [f"/explorer{back}"] * bool(
        back
    )


@pytest.mark.parametrize(
    ("kind", "weight", "explained"),
    [("UPDATES", 0.9, True), ("UPDATES", 0.1, False), ("MENTIONS", 1.0, False)],
)
async def test_the_legend_of_a_graph_has_the_lines_that_are_in_it(
    kind: str, weight: float, explained: bool
) -> None:
    """Red lines had no explanation; an unlikely one is not red."""

    class Related(Memories):
        async def neighbours(self, **_: Any) -> recall_pb2.NeighboursResponse:
            reply = await super().neighbours()
            edge = recall_pb2.GraphEdge(source=0, target=1, kind=kind, weight=weight)
            return recall_pb2.NeighboursResponse(nodes=reply.nodes, edges=[edge])

    async with client_of(Related()) as client:
        page = (await client.get(f"/explorer/graph?around={ID}")).text
    assert ('<span class="key replacing" aria-hidden="true"></span> updates' in page) is explained


async def test_keys_are_offered_by_the_script_that_has_them() -> None:
    """Without scripts nothing listens to a key, so the page names none."""
    async with client_of(Memories()) as client:
        page = (await client.get("/explorer")).text
        script = (await client.get("/explorer/static/explorer.js")).text
    assert 'placeholder="Search memories"' in page
    assert '<details id="keys" class="scripted">' in page
    assert '"Search memories  ( / )"' in script


async def test_a_viewer_is_offered_what_the_own_roles_allow(tokens: dict[str, Any]) -> None:
    """No form that is refused, no page of the admin, no figure of the service that is not told."""
    offers = {"/correct": "write", "/forget": "write", "/undo": "write", "graph?around=": "recall"}
    async with client_of(Memories(), **tokens) as client:
        for token, roles in (("ana", {"recall", "write"}), ("boss", {"recall", "admin"})):
            headers = {"authorization": f"Bearer {token}"}
            page = (await client.get(f"/explorer/memories/{ID}", headers=headers)).text
            first = (await client.get("/explorer", headers=headers)).text
            assert {one for one, role in offers.items() if role in roles} == {o for o in offers if o in page}
            assert ("Dead letters</a>" in page) is ("admin" in roles)
            assert ("up for" in first) is ("admin" in roles)
        denied = await client.get("/explorer/letters", headers={"authorization": "Bearer ana"})
    assert denied.status_code == 403
    assert 'href="/explorer/letters"' not in denied.text
