"""An update that the rules are unsure of, from the turn to the verdict, its undo, and a rebuild."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from helix_cli.output.exit_codes import UNREACHABLE_EXIT
from helix_memory import subjects
from helix_shared.broker import streams
from helix_shared.identity import memory_id

from .endpoint_server import EndpointServer
from .running import PATIENCE_SECONDS, Helix, running

pytestmark = pytest.mark.integration

OLD = "The roof estimate from the carpenter is four thousand."
NEW = "The carpenter changed the roof estimate to five thousand."
OLD_ID, NEW_ID = (memory_id("acme", f"t{number}", 0) for number in (1, 2))
QUESTION = "how much is the roof estimate of the carpenter"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of both stacks."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server() -> Iterator[EndpointServer]:
    """A language model that notes nothing, and judges pairs."""
    with EndpointServer() as made:
        made.answer = lambda _: {"entities": [], "memories": [], "links": []}
        yield made


def relation(helix: Helix) -> str:
    """The line of `helix memory history` about the update."""
    shown = helix.run("memory", "history", OLD_ID, "--tenant", "acme")
    return next((line for line in shown.splitlines() if "UPDATES" in line), "")


def asked_pairs(server: EndpointServer) -> int:
    """Requests about pairs."""
    return sum('"pair": 1' in one["messages"][-1]["content"] for one in server.requests)


@pytest.mark.long
def test_a_verdict_makes_an_unsure_update_current_until_it_is_undone(
    home: Path, server: EndpointServer, models_dir: Path
) -> None:
    """With the model dead both stand side by side; a verdict closes the older one; a rebuild repeats all."""
    with running(home, server, models_dir) as helix:
        _goes_on_by_the_rules(helix)
        _removes_pairs_of_forgotten_texts(helix)
        _becomes_current(helix)
        helix.until_idle()
        before = _shown(helix)
        helix.on_nats(_forget_what_was_derived)
    asked = len(server.requests)
    for name in ("generations", "live", "CURRENT"):
        path = home / "data" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with running(home, server, models_dir) as rebuilt:
        rebuilt.until(lambda: _shown(rebuilt) == before, "the rebuild shows something else")
        assert len(server.requests) == asked
        assert rebuilt.endpoint_status()["pairs"]["repeated"] == 1
        rebuilt.run("memory", "undo", NEW_ID, "--tenant", "acme")
        rebuilt.until(lambda: OLD in rebuilt.texts(QUESTION), "the undo takes nothing back")
        assert "ignored" in relation(rebuilt)


def _goes_on_by_the_rules(helix: Helix) -> None:
    helix.server.status = 500
    helix.say(OLD)
    helix.client.wait_until_applied(helix.say(NEW), wait_seconds=PATIENCE_SECONDS)
    assert {OLD, NEW} <= set(helix.texts(QUESTION))
    assert "closed" not in relation(helix)
    assert "verdict" not in relation(helix)
    helix.until(lambda: asked_pairs(helix.server) > 0, "nothing is asked about the pair")


def _becomes_current(helix: Helix) -> None:
    helix.server.status = 0
    helix.until(lambda: OLD not in helix.texts(QUESTION), "the verdict changes nothing")
    assert NEW in helix.texts(QUESTION)
    answered = [one["messages"][-1]["content"] for one in helix.server.requests if one.get("answered")]
    assert not [text for text in answered if '"pair": 1' in text and "fence" in text]
    line = relation(helix)
    assert all(part in line for part in ("closed", "verdict:replaces 1.00", "rules:UPDATES 0.4"))
    found = helix.endpoint_status()["pairs"]
    assert {name: found[name] for name in ("answered", "pairs", "verdicts")} == {
        "answered": 1,
        "pairs": 1,
        "verdicts": 1,
    }
    # the consumer of extract has a shorter ack wait than `helix provision` gives it, which status names
    assert "pairs: 1 answers" in helix.run("status", code=UNREACHABLE_EXIT)


def _removes_pairs_of_forgotten_texts(helix: Helix) -> None:
    """While the model is dead its pairs wait; those of a forgotten memory leave the stream."""

    async def stored(client: Client) -> int:
        return (await client.jetstream().stream_info(subjects.PAIRS_STREAM)).state.messages

    helix.say("The fence estimate from the gardener is nine thousand.", session_id="fence")
    helix.say("The gardener changed the fence estimate to two thousand.", session_id="fence")
    helix.until(lambda: helix.on_nats(stored) > 1, "no pair is published")
    for name in ("t3", "t4"):
        helix.run("memory", "forget", memory_id("acme", name, 0), "--tenant", "acme", "--wait")
    assert helix.on_nats(stored) == 1


def _shown(helix: Helix) -> tuple[Any, ...]:
    """What must be the same after a rebuild."""
    try:
        return relation(helix), helix.texts(QUESTION)
    except AssertionError:
        return ()


async def _forget_what_was_derived(client: Client) -> None:
    """As the runbook says of a rebuild: everything but events and recorded answers is made again."""
    jetstream = client.jetstream()
    await jetstream.delete_stream(subjects.DERIVED_STREAM)
    for durable in (streams.INGEST, streams.CONSOLIDATION_LIFECYCLE, streams.EXTRACT):
        await jetstream.delete_consumer(subjects.EVENTS_STREAM, durable)
