"""The client with everything that `helix up` runs."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory.client import AsyncHelix, Helix, InvalidInputError, NotFoundError
from helix_memory.transport.polling import poll

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[dict[str, int]]:
    """Options of a client of one stack for all tests; the deadline is that of a machine under load."""
    home = tmp_path_factory.mktemp("home")
    with Stack(home / "home", nats_port=0, query_port=0, models=models_dir) as stack:
        stack.wait_ready()
        nats, query = (int(one.rpartition(":")[2]) for one in (stack.nats_url, stack.query_address))
        yield {"nats_port": nats, "query_port": query, "deadline_seconds": 60}


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
        later = helix.correct(note, "We deploy on Thursdays.", wait=True)
        recalled = helix.recall("when do we deploy?")
        assert [one.id for one in recalled.memories] == [later.memory_id]
        assert recalled.memories[0].rank == 1
        assert "Thursdays" in recalled.context
        assert helix.why(later, "when do we deploy?").rank == 1
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
            said = [monday.message(f"Step {n} of the migration is done.") for n in range(5)]
        page = helix.list(page_size=2, after=said)
        rest = helix.list(page_size=200, page_token=page.next_page_token)
        listed = [one.text for one in (*page.memories, *rest.memories)]
        assert listed == [f"Step {n} of the migration is done." for n in (4, 3, 2, 1, 0)]
        around = helix.timeline(around=said[2], page_size=3).memories
        assert [one.text for one in around] == listed[::-1][1:4]
        assert [one.text for one in helix.timeline(session="monday").memories] == listed[::-1]
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
        near = helix.neighbours(around=note)
        assert {one.entity for one in near.nodes[1:]} == {one.name for one in found}
        assert len(helix.neighbours(entity=found[0].name, hops=2).nodes) == len(near.nodes)
        assert not nobody.entities().entities
        with pytest.raises(NotFoundError):
            nobody.neighbours(entity=found[0].name)
        with pytest.raises(InvalidInputError):
            helix.neighbours()
