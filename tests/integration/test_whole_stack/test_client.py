"""The client and the gateway with everything that `helix up` runs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory.client import AsyncHelix, Helix, InvalidInputError, NotFoundError
from helix_memory.transport.polling import poll
from tests.end_to_end.gateway_calls import (
    Client,
    asked,
    called,
    lives_through_all_tools,
    over_stdio,
    refuses_what_is_not_an_agents,
)
from tests.integration.test_cli.running import run

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def served(stack: Stack) -> dict[str, int]:
    """Options of a client."""
    nats, query = (int(one.rpartition(":")[2]) for one in (stack.nats_url, stack.query_address))
    return {"nats_port": nats, "query_port": query, "deadline_seconds": 60}


def test_the_first_program_of_the_readme_runs(
    served: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is written there, but for ports and deadline: it prints what was said a moment before."""
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- first program -->\n```python\n")[1]
    program = block.split("```")[0]
    assert len([line for line in program.splitlines() if line]) <= 8
    here = ", ".join(f"{name}={port}" for name, port in served.items())
    exec(program.replace('user="ana")', f'user="ana", {here})'), {})  # noqa: S102  our own README
    assert "I don't eat fish" in capsys.readouterr().out


def test_a_memory_lives_from_remember_to_erase(served: dict[str, int]) -> None:
    """Each write waits, so the next read shows it."""
    with Helix(tenant="life", user="ana", **served) as helix:
        note = helix.remember("We deploy on Tuesdays.", type="decision", tags=["release"], wait=True)
        found = helix.get(note)
        assert (found.id, found.text, found.type, found.user_id) == (
            note.memory_id, "We deploy on Tuesdays.", "decision", "ana",
        )  # fmt: skip
        assert (found.owner, found.audience, found.access_count) == ("ana", ("*",), 0)
        later = helix.correct(note, "We deploy on Thursdays.", wait=True)
        recalled = helix.recall("when do we deploy?")
        assert [one.id for one in recalled.memories] == [later.memory_id]
        assert recalled.memories[0].rank == 1
        assert "Thursdays" in recalled.context
        assert helix.why(later, "when do we deploy?").rank == 1
        explained = helix.explain("when do we deploy?").explanation.candidates
        assert [one.rank for one in explained if one.memory_id == later.memory_id] == [1]
        assert helix.why_not(later, "when do we deploy?").verdict
        helix.feedback(helpful=recalled.memories, wait=True)
        helix.forget(later, wait=True)
        assert later.memory_id not in {one.id for one in helix.recall("when do we deploy?").memories}
        helix.restore(later, wait=True)
        assert helix.get(later).text == "We deploy on Thursdays."
        helix.erase(note, later, wait=True)
        with pytest.raises(NotFoundError):
            helix.get(later)


def test_another_user_sees_nothing(served: dict[str, int]) -> None:
    """Whose memory it is, is a matter of the client, not of each call."""
    with Helix(tenant="two", user="ana", **served) as ana, Helix(tenant="two", user="bo", **served) as bo:
        secret = ana.remember("My locker code is 4711.", wait=True)
        assert not bo.recall("what is the locker code?").memories
        with pytest.raises(NotFoundError):
            bo.get(secret)
        with pytest.raises(InvalidInputError, match="memory_ids"):
            bo.forget(secret, wait=True)
        assert ana.get(secret).text == "My locker code is 4711."


def test_a_repeated_event_is_stored_once(served: dict[str, int]) -> None:
    """The second write says so."""
    with Helix(tenant="twice", **served) as helix:
        first = helix.remember("Once.", event_id="mine")
        second = helix.remember("Once.", event_id="mine", wait=True)
    assert second == replace(first, duplicate=True)


def test_what_a_service_refuses_raises_with_wait(served: dict[str, int]) -> None:
    """A correction of a memory that does not exist is refused after it was acknowledged."""
    with Helix(tenant="refused", **served) as helix, pytest.raises(InvalidInputError, match="memory"):
        helix.correct("0" * 32, "nothing", wait=True)


def test_documents_tools_and_profiles(served: dict[str, int]) -> None:
    """The other kinds of events."""
    with Helix(tenant="kinds", user="ana", **served) as helix:
        with helix.session() as run:
            run.tool("bash", command="make test", exit_status=2, error="E1234: no such table ledger")
            said = run.message("I'm vegetarian.", speaker="Ana")
        helix.document("guide", "# Deploying\n\nRun make deploy on port 9443.", media_type="text/markdown")
        assert "9443" in helix.recall("which port?", after=helix.remember("Last.")).context
        assert "E1234" in helix.recall("no such table ledger").context
        assert "vegetarian" in helix.profile(after=said).text


async def test_asyncio(served: dict[str, int]) -> None:
    """The same for programs with an event loop."""
    async with AsyncHelix(tenant="loop", **served) as helix:
        async with helix.session("s1") as chat:
            said = await chat.message("We chose Postgres for the ledger.", speaker="Priya")
        found = await helix.recall("which database did we pick?", after=said)
        assert not found.stale
        assert "Postgres" in found.context


def test_what_was_written_is_listed_by_the_client_and_by_commands(served: dict[str, int]) -> None:
    """A page at a time, in the order in which it happened, for its user alone."""
    with Helix(tenant="lists", user="ana", **served) as helix, Helix(tenant="lists", **served) as nobody:
        with helix.session("monday") as monday:
            said = [
                monday.message(f"Step {n} of the migration is done.", speaker=("Ana", "Bo")[n % 2])
                for n in range(5)
            ]
        page = helix.list(page_size=2, after=said)
        rest = helix.list(page_size=200, page_token=page.next_page_token)
        listed = [one.text for one in (*page.memories, *rest.memories)]
        assert listed == [f"Step {n} of the migration is done." for n in (4, 3, 2, 1, 0)]
        around = helix.timeline(around=said[2], page_size=3).memories
        assert [one.text for one in around] == listed[::-1][1:4]
        assert [one.text for one in helix.timeline(session="monday").memories] == listed[::-1]
        assert [one.text for one in helix.list(speakers=["bo"]).memories] == listed[1::2]
        texts = [listed[0].upper(), "Step 1 of the  migration is done.", "Step 1"]
        assert [one.text for one in helix.list(texts=texts).memories] == [listed[0], listed[3]]
        [session] = helix.sessions().sessions
        assert (session.session_id, session.memories) == ("monday", 5)
        assert not nobody.list().memories
        assert not nobody.sessions().sessions
    address = ["--query", f"127.0.0.1:{served['query_port']}", "--tenant", "lists", "--user", "ana"]
    runner = CliRunner(env={"COLUMNS": "120"})
    table = runner.invoke(app, ["memory", "ls", "--limit", "2", *address])
    assert "Step 4" in table.stdout
    assert "Step 2" not in table.stdout
    assert "--page " in table.stderr
    said = runner.invoke(app, ["memory", "ls", "--text", listed[1].lower(), *address]).stdout
    assert ("Step 3" in said, said.count("Step")) == (True, 1)
    of_ana = runner.invoke(app, ["memory", "ls", "--speaker", "ana", *address]).stdout
    assert ("Step 2" in of_ana, "Step 3" in of_ana) == (True, False)
    listed_ids = json.loads(runner.invoke(app, ["memory", "ls", "--json", *address]).stdout)["memories"]
    shown = runner.invoke(app, ["memory", "show", listed_ids[0]["memory_id"][:8], *address])
    assert "Step 4 of the migration is done." in shown.stdout
    assert "monday" in shown.stdout
    assert "monday" in runner.invoke(app, ["session", "ls", *address]).stdout
    said_there = runner.invoke(app, ["session", "show", "monday", "--json", *address])
    assert len(json.loads(said_there.stdout)["memories"]) == 5
    assert runner.invoke(app, ["session", "show", "tuesday", *address]).exit_code == 1


def test_entities_and_the_graph_around_them(served: dict[str, int]) -> None:
    """They come a moment after the memory, when its links are extracted."""
    with Helix(tenant="graph", user="ana", **served) as helix, Helix(tenant="graph", **served) as nobody:
        note = helix.remember("Priya Nair moved the ledger to Postgres.", wait=True)
        for _ in poll(30.0):
            if found := helix.entities().entities:
                break
        assert {one.memories for one in found} == {1}
        assert {"Priya Nair", "Postgres"} <= {one.display_name for one in found}
        near = helix.neighbours(around=note)
        assert {one.entity for one in near.nodes[1:]} == {one.name for one in found}
        assert len(helix.neighbours(entity=found[0].name, hops=2).nodes) == len(near.nodes)
        assert not nobody.entities().entities
        with pytest.raises(NotFoundError):
            nobody.neighbours(entity=found[0].name)
        with pytest.raises(InvalidInputError):
            helix.neighbours()


def test_the_gateway_has_what_the_client_has(stack: Stack) -> None:
    """A memory from remember to erase in JSON, with the names and the words of the client."""
    at, who = f"{stack.gateway_url}/v1", {"helix_tenant": "rest", "helix_user": "ana"}
    kept = asked(f"{at}/remember", {"text": "We ship on Fridays.", "tags": "release", "wait": True}, **who)
    one = kept.body["memory_id"]
    assert kept.status == 200
    found = asked(f"{at}/recall", {"query": "when do we ship?", "after": kept.body["sequence"]}, **who).body
    assert [(m["id"], m["text"], m["user_id"]) for m in found["memories"]] == [
        (one, "We ship on Fridays.", "ana")
    ]
    assert found["memories"][0]["categories"] == ["release"]
    assert "Fridays" in found["context"]
    assert asked(f"{at}/memories?page_size=1&types=episodic&types=semantic", **who).body["memories"]
    assert asked(f"{at}/memories/{one}/why", {"query": "when do we ship?"}, **who).body["rank"] == 1
    assert asked(f"{at}/memories/{one}/why_not", {"query": "when do we ship?"}, **who).body["verdict"]
    later = asked(f"{at}/memories/{one}/correct", {"text": "We ship on Mondays.", "wait": True}, **who).body
    history = asked(f"{at}/memories/{one}/history", **who).body
    assert [m["text"] for m in history["memories"]] == ["We ship on Fridays.", "We ship on Mondays."]
    assert asked(f"{at}/forget", {"memories": later["memory_id"], "wait": True}, **who).status == 200
    assert asked(f"{at}/memories/{later['memory_id']}", **who).status == 404
    assert asked(f"{at}/restore", {"memories": [later["memory_id"]], "wait": True}, **who).status == 200
    assert asked(f"{at}/memories/{later['memory_id']}", **who).body["text"] == "We ship on Mondays."
    assert asked(f"{at}/memories/{later['memory_id']}", helix_tenant="rest", helix_user="bo").status == 404
    gone = asked(f"{at}/erase", {"memories": [one, later["memory_id"]], "wait": True}, **who).body
    assert asked(f"{at}/erasures/{gone['event_id']}", **who).body["sequence"] == gone["sequence"]
    for path in ("sessions", "entities", "profile", "status", "timeline?since=2026-01-01T00:00:00Z"):
        assert asked(f"{at}/{path}", **who).status == 200


async def test_every_door_names_the_ids_that_name_nothing(stack: Stack) -> None:
    """Of no memory, and of another user's; what was written a moment ago counts as there."""
    at, who = f"{stack.gateway_url}/v1", {"helix_tenant": "rest", "helix_user": "eve"}
    others = asked(
        f"{at}/remember", {"text": "Bo keeps bees.", "wait": True}, helix_tenant="rest", helix_user="bo"
    )
    nothing = ["f" * 32, others.body["memory_id"]]
    own = asked(f"{at}/remember", {"text": "Eve keeps geese."}, **who).body["memory_id"]
    told = asked(f"{at}/forget", {"memories": [*nothing, own]}, **who)
    assert (told.status, told.body["missing"]) == (200, nothing)
    assert asked(f"{at}/memories/{own}", **who).status == 404
    home = str(stack.home.root)
    async with over_stdio("--tenant", "rest", "--user", "eve", HELIX_HOME=home) as client:
        shown = await called(client, "forget", ids=[*nothing, own], restore=True)
    assert shown["missing"] == nothing
    command = ("memory", "forget", *nothing, own, "--tenant", "rest", "--user", "eve")
    code, out, err = run(stack.home.root, *command)
    assert (code, [one for one in (*nothing, own) if f"refused {one}: " in err]) == (1, nothing), out + err
    told = asked(f"{at}/restore", {"memories": nothing}, **who)
    assert (told.status, told.body["error"]["field"]) == (400, "memories")
    told = asked(f"{at}/feedback", {"helpful": [nothing[0], own], "unhelpful": nothing[1]}, **who)
    assert (told.status, told.body["missing"]) == (200, nothing)
    ids = json.dumps([*nothing, own])
    for kind, field in (("forget", "memory_ids"), ("feedback", "helpful")):
        for options in ((), ("--wait",)):
            command = ("publish", "--kind", kind, "--set", f"{field}={ids}", *options, "--tenant", "rest")
            code, out, err = run(stack.home.root, *command, "--user", "eve", "--json")
            assert (code, json.loads(out)["missing"]) == (0, nothing), out + err
    for one in nothing:
        assert asked(f"{at}/memories/{one}/correct", {"text": "Eve keeps bees."}, **who).status == 404
        assert asked(f"{at}/memories/{one}/undo", {}, **who).status == 404


def test_every_door_erases_what_is_there_and_names_the_ids_that_name_nothing(stack: Stack) -> None:
    """Whether it waits for the erasure or not; of another user nothing is erased."""
    at, who = f"{stack.gateway_url}/v1", {"helix_tenant": "rest", "helix_user": "uma"}
    others = asked(
        f"{at}/remember", {"text": "Bo keeps goats.", "wait": True}, helix_tenant="rest", helix_user="bo"
    )
    nothing = ["f" * 32, others.body["memory_id"]]

    def note(number: int) -> str:
        """The id of a new memory."""
        written = asked(f"{at}/remember", {"text": f"Uma has {number} hens.", "wait": True}, **who)
        return str(written.body["memory_id"])

    options = ("--tenant", "rest", "--user", "uma", "--json")
    for wait in (True, False):
        one, other, last = map(note, range(3))
        told = asked(f"{at}/erase", {"memories": [*nothing, one], "wait": wait}, **who)
        assert (told.status, told.body["missing"]) == (200, nothing)
        erase = ("publish", "--kind", "erase", "--set", f"memory_ids={json.dumps([*nothing, other])}")
        code, out, err = run(stack.home.root, *erase, *(["--wait"] if wait else []), *options)
        assert (code, json.loads(out)["missing"]) == (0, nothing), out + err
        code, out, err = run(
            stack.home.root, "erase", *nothing, last, "--yes", *options, "--wait" if wait else "--no-wait"
        )
        assert (code, json.loads(out)["missing"]) == (0, nothing), out + err
        asked(f"{at}/remember", {"text": "Uma is tired.", "wait": True}, **who)
        assert [asked(f"{at}/memories/{name}", **who).status for name in (one, other, last)] == [404] * 3
    assert asked(f"{at}/memories/{nothing[1]}", helix_tenant="rest", helix_user="bo").status == 200


async def test_agents_use_every_tool_over_http_and_stdio(stack: Stack) -> None:
    """The SDK's own client, in both revisions of the protocol; the scope comes from the host's settings."""
    home = str(stack.home.root)
    async with over_stdio("--tenant", "mcp", "--user", "ana", HELIX_HOME=home) as client:
        await lives_through_all_tools(client, "Ana is allergic to peanuts.")
        await refuses_what_is_not_an_agents(client)
    async with Client(f"{stack.gateway_url}/mcp", mode="legacy") as client:
        kiln = await called(client, "remember", text="The kiln fires at 1,240 degrees.", wait=True)
        found = await called(client, "recall", query="how hot is the kiln?")
        assert [one["id"] for one in found["memories"]] == [kiln["id"]]
        await refuses_what_is_not_an_agents(client)


async def test_agents_find_the_names_of_other_memory_servers(stack: Stack) -> None:
    """What was added under one name is found under the others; deleting hides it."""
    async with Client(f"{stack.gateway_url}/mcp/openmemory") as client:
        added = await called(client, "add_memories", text="The lathe stands in hall B.")
    async with Client(f"{stack.gateway_url}/mcp/mem0") as client:
        for _ in poll(60.0):
            if (await called(client, "get_memory", memory_id=added["id"]))["memories"]:
                break
        assert (await called(client, "search_memories", query="where is the lathe?"))["memories"]
        with pytest.raises(Exception, match="Method not found"):
            await client.list_prompts()
        await called(client, "update_memory", memory_id=added["id"], text="The lathe stands in hall C.")
        assert "hall C" in (await called(client, "get_memories"))["memories"][0]["text"]
    async with over_stdio("--names", "server-memory", HELIX_HOME=str(stack.home.root)) as client:
        fact = {"name": "Priya", "entityType": "person", "observations": ["likes figs"]}
        written = (await called(client, "create_entities", entities=[fact]))["written"]
        async with Client(f"{stack.gateway_url}/mcp") as own:
            await called(own, "recall", query="figs", after=written[-1]["sequence"])
        graph = await called(client, "search_nodes", query="who likes figs?")
        [priya] = [one for one in graph["entities"] if one["name"] == "Priya"]
        assert "likes figs" in priya["observations"]
        deletion = {"entityName": "Priya", "observations": ["likes figs"]}
        await called(client, "delete_observations", deletions=[deletion])
        graph = await called(client, "read_graph")
        [priya] = [one for one in graph["entities"] if one["name"] == "Priya"]
        assert priya["observations"] == ["is a person"]
        await _keeps_observations_apart(client)


async def _keeps_observations_apart(client: Client) -> None:
    """An entity has its own, whatever the case of its name; what is shown is deleted by what is shown."""
    acme = {"name": "Acme Corp", "observations": ["has 40 employees"]}
    await called(client, "create_entities", entities=[acme, {"name": "my_project"}])
    relation = {"from": "default_user", "relationType": "works at", "to": "Acme Corp"}
    await called(client, "create_relations", relations=[relation])
    names = ["acme corp", "DEFAULT_USER", "my_project"]
    for _ in poll(60.0):  # until the links are extracted
        entities = (await called(client, "open_nodes", names=names))["entities"]
        if len(entities) == len(names):
            break
    assert [(one["name"], one["observations"]) for one in entities] == [
        ("Acme Corp", ["has 40 employees"]), ("default_user", ["works at Acme Corp"]), ("my_project", []),
    ]  # fmt: skip
    deletion = {"entityName": "acme corp", "observations": ["has 40 employees", "has 50 employees"]}
    told = await called(client, "delete_observations", deletions=[deletion])
    assert told["missing"] == ["acme corp: has 50 employees"]
    assert not (await called(client, "open_nodes", names=["Acme Corp"]))["entities"]
    # its title is no entity, so nothing is near it
    likes = [f"likes dish {number}" for number in range(3)]
    await called(client, "create_entities", entities=[{"name": "zq", "observations": likes}])
    missing = [f"likes dish {number}" for number in range(3, 40)]
    deletion = {"entityName": "ZQ", "observations": [*likes[:2], *missing]}
    for _ in poll(60.0):
        shown = (await called(client, "read_graph"))["entities"]
        if any(one["name"] == "zq" and len(one["observations"]) == 3 for one in shown):
            break
    told = await called(client, "delete_observations", deletions=[deletion])
    assert told["missing"] == [f"ZQ: {text}" for text in missing]
    shown = (await called(client, "read_graph"))["entities"]
    assert [one["observations"] for one in shown if one["name"] == "zq"] == [likes[2:]]
