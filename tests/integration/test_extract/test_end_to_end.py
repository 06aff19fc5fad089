"""From a turn to a recallable statement through all processes, with a language model that lives and dies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_memory.transport.publisher import Publisher
from helix_shared import edges
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.worker.rederive import request_derivation
from helix_shared.encoders.store import default_model
from helix_shared.errors import TemporaryError
from helix_shared.identity import memory_id

from . import troubles
from .endpoint_server import EndpointServer
from .running import PATIENCE_SECONDS, Helix, running

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def helix(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Helix]:
    """One stack and one language model for the tests of this file."""
    with EndpointServer() as server, running(tmp_path_factory.mktemp("home"), server, models_dir) as made:
        yield made


def test_what_the_model_drew_from_turns_is_recallable(helix: Helix) -> None:
    """Three turns are one window and one question; the verbatim turns stay and are cited."""
    helix.say("The kiln in the cellar is Odile's.")
    helix.say("Noted!", role="assistant", speaker="")
    last = helix.say("She fires stoneware on Fridays.", user_id="")
    helix.client.wait_until_applied(last, wait_seconds=PATIENCE_SECONDS)
    wanted = "Mara says that She fires stoneware on Fridays."
    helix.until(lambda: wanted in helix.texts("what did Mara note about stoneware"), "not recallable")
    helix.until_idle()
    assert (helix.server.answered, helix.recorded()) == (1, 1)
    (request,) = [one for one in helix.server.requests if one.get("answered")]
    assert len(request["messages"][-1]["content"].splitlines()) == 3
    (found,) = [one.memory for one in helix.recall("stoneware") if one.memory.text == wanted]
    assert (found.derived_from, found.source_class) == (memory_id("acme", "t3", 0), "user")
    assert helix.client.status().memories == 5
    status = helix.endpoint_status()
    assert (status["counts"]["answered"], status["counts"]["statements"]) == (1, 2)
    assert sum(status["tokens"].values()) == 500
    assert (status["breaker"], status["model"]) == ("closed", "small")
    assert not [log for log in helix.stack.home.logs.iterdir() if "sesame-4711" in log.read_text()]


def test_another_tenant_is_not_asked_about(helix: Helix) -> None:
    """Only those of the allow-list are."""
    before = len(helix.server.requests)
    event = MessageEvent(
        event_id="other", tenant_id="umbrella", session_id="s", role="user", text="A secret."
    )

    async def publish(client: Client) -> None:
        await Publisher(client.jetstream()).publish_event(event)

    helix.on_nats(publish)
    helix.until_idle()
    assert len(helix.server.requests) == before


def test_a_turn_with_a_credential_is_not_sent(helix: Helix) -> None:
    """The turns around it are asked about; it is stored and recalled like any other."""
    key = "AKIA" + "Q" * 16
    helix.say("The glaze store opens at ten.", session_id="secrets")
    last = helix.say(f"Its bucket wants the key {key}.", session_id="secrets")
    helix.client.wait_until_applied(last, wait_seconds=PATIENCE_SECONDS)
    asked = "The glaze store opens at ten."
    helix.until(lambda: asked in json.dumps(helix.server.requests), "not asked about")
    helix.until_idle()
    assert key not in json.dumps(helix.server.requests)
    assert f"Its bucket wants the key {key}." in helix.texts("which key does the bucket want")


@pytest.mark.long
def test_a_dead_model_delays_nothing_else_and_loses_no_window(helix: Helix) -> None:
    """Turns are recallable by the rules; the window is asked about once the model answers again."""
    helix.server.status = 500
    asked = len(helix.server.requests)
    text = "The glaze recipe hangs behind the door."
    helix.client.wait_until_applied(helix.say(text, session_id="dead"), wait_seconds=PATIENCE_SECONDS)
    assert text in helix.texts("glaze recipe")
    helix.until(lambda: len(helix.server.requests) >= asked + 6, "it is not asked again")
    assert f"Mara says that {text}" not in helix.texts("what did Mara note about the glaze")
    assert helix.endpoint_status()["counts"]["failed"] >= 5
    helix.server.status = 0
    helix.until(lambda: f"Mara says that {text}" in helix.texts("Mara glaze"), "the window is lost")


@pytest.mark.long
@pytest.mark.parametrize(
    ("trouble", "text"),
    [
        (troubles.written_in_prose, "The cobalt jar was refilled by Henk."),
        (troubles.cut, "Ostrich feathers lie in the attic."),
        (troubles.slow, "Parking costs four euros at the quay."),
        (troubles.busy, "My dentist retired in Antwerp."),
        (troubles.picky, "Walnut bread sells best at noon."),
        (troubles.absent, "Nine swallows nest under the roof."),
    ],
)
def test_a_trouble_of_the_model_delays_nothing_else_and_loses_no_window(
    helix: Helix, trouble: Callable[[Helix], AbstractContextManager[None]], text: str
) -> None:
    """The turn is recallable at once, and the statement once, when the trouble has passed."""
    wanted = f"Mara says that {text}"
    with trouble(helix):
        said = helix.say(text, session_id=trouble.__name__)
        helix.client.wait_until_applied(said, wait_seconds=PATIENCE_SECONDS)
        assert {text, wanted} & set(helix.texts(text))
    helix.until(lambda: wanted in helix.texts(wanted), "the window is lost")
    helix.until_idle()
    assert helix.texts(wanted).count(wanted) == 1


def test_a_lying_model_adds_nothing(helix: Helix) -> None:
    """An invented quote and a turn that does not exist are dropped, counted, and not asked about again."""

    def lie(_: list[dict[str, Any]]) -> dict[str, Any]:
        common = {"text": "Mara sold the pigsty.", "kind": "fact", "quote": "I sold the pigsty"}
        return {"memories": [{**common, "turns": [1]}, {**common, "turns": [9]}], "entities": [], "links": []}

    honest, helix.server.answer = helix.server.answer, lie
    before = helix.recorded()
    helix.say("The pigsty needs a roof.", session_id="lies")
    helix.until(lambda: helix.recorded() == before + 1, "no answer is recorded")
    helix.until_idle()
    helix.server.answer = honest
    assert {"quote": 1, "turn": 1}.items() <= helix.endpoint_status()["dropped"].items()
    assert not [text for text in helix.texts("pigsty") if "sold" in text]


def test_relations_of_the_model_are_typed_edges(helix: Helix) -> None:
    """`helix graph` shows those with a predicate; the others are dropped and counted."""

    def relate(turns: list[dict[str, Any]]) -> dict[str, Any]:
        names = [{"name": "Odile", "type": "person"}, {"name": "Ghent", "type": "place"}]
        said = {"text": "Odile's flat is in Ghent.", "kind": "fact", "turns": [1], "quote": turns[0]["text"]}
        link = {"from": 0, "to": 1, "turn": 1}
        links = [link | {"relation": relation} for relation in ("lives in", "is fond of")]
        return {"entities": names, "memories": [said], "links": links}

    honest, helix.server.answer = helix.server.answer, relate
    helix.say("Odile found a flat in Ghent.", session_id="typed")
    runner = CliRunner(env={"HELIX_HOME": str(helix.stack.home.root), "COLUMNS": "200"})
    graph = ["graph", "--tenant", "acme"]
    wanted = "odile lives_in ghent"
    helix.until(lambda: wanted in runner.invoke(app, graph).stdout.casefold(), "there is no typed edge")
    helix.until_idle()
    helix.server.answer = honest
    assert helix.endpoint_status()["dropped"]["relation"] == 1


def test_a_killed_worker_asks_at_most_once_more_and_stores_once(helix: Helix) -> None:
    """It is killed while the model thinks; its next process finds the window again."""
    helix.server.seconds = 1.5
    begun, recorded = len(helix.server.requests), helix.recorded()
    helix.say("The wheel squeaks since Tuesday.", session_id="killed")
    helix.until(lambda: len(helix.server.requests) > begun, "it is not asked")
    helix.stack.kill("extract")
    wanted = "Mara says that The wheel squeaks since Tuesday."
    helix.until(lambda: wanted in helix.texts("Mara wheel squeaks"), "the window is lost")
    helix.until_idle()
    helix.server.seconds = 0.0
    assert len(helix.server.requests) - begun <= 2
    assert helix.recorded() == recorded + 1
    assert helix.texts("Mara wheel squeaks").count(wanted) == 1


def test_a_replay_repeats_the_answers_and_asks_nothing(helix: Helix) -> None:
    """Every turn is delivered again, as after a rebuild."""
    asked, recorded = len(helix.server.requests), helix.recorded()
    repeated = helix.endpoint_status()["counts"].get("repeated", 0)

    async def from_the_first(client: Client) -> None:
        await client.jetstream().delete_consumer(subjects.EVENTS_STREAM, streams.EXTRACT)
        await provision(client.jetstream(), endpoint=True)

    helix.on_nats(from_the_first)
    helix.until(
        lambda: helix.endpoint_status()["counts"].get("repeated", 0) >= repeated + recorded,
        "nothing is repeated",
    )
    helix.until_idle()
    assert (len(helix.server.requests), helix.recorded()) == (asked, recorded)
    assert helix.texts("Mara wheel squeaks").count("Mara says that The wheel squeaks since Tuesday.") == 1


def test_statements_are_derived_again_from_the_recorded_answer(helix: Helix) -> None:
    """As the writer requests it after another release or model; nothing is asked."""
    asked = len(helix.server.requests)

    async def derive(client: Client) -> bytes:
        return (await request_derivation(client, "statements", sequence=3)).body

    origin, rows = edges.decode(helix.on_nats(derive))
    assert (origin.edge, origin.event_sequence, rows.num_rows) == ("statements", 3, 2)
    assert len(helix.server.requests) == asked


def test_a_refused_window_is_asked_about_when_its_letter_is_redriven(helix: Helix) -> None:
    """There is no recorded answer; while the server refuses, the letter stays."""

    def letters() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(helix.run("dlq", "ls", "--service", "extract", "--json"))
        return found

    recorded = helix.recorded()
    helix.say("The glaze of the vase is celadon.", session_id="sound")
    helix.until(lambda: helix.recorded() > recorded, "the server's form of answers is not known")
    helix.server.status = 400
    helix.say("The bisque kiln needs a thermocouple.", session_id="refused")
    helix.until(lambda: len(letters()) == 1, "there is no letter")
    redrive = ("dlq", "redrive", "--all", "--yes", "--service", "extract", "--json")
    assert [one["state"] for one in json.loads(helix.run(*redrive, code=1))] == ["refused"]
    assert [letter["redrives"] for letter in letters()] == [1]
    helix.server.status = 0
    assert [one["state"] for one in json.loads(helix.run(*redrive))] == ["processed"]
    wanted = "Mara says that The bisque kiln needs a thermocouple."
    helix.until(lambda: wanted in helix.texts("Mara bisque kiln thermocouple"), "the window is lost")
    assert letters() == []


@pytest.mark.long
def test_statements_outlive_a_reembedding_that_is_ended_just_after_its_step(
    helix: Helix, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same model within the duplicate window: they are published again, and nothing is asked."""
    home, asked = helix.stack.home, len(helix.server.requests)
    wanted = "Mara says that The wheel squeaks since Tuesday."
    assert wanted in helix.texts("Mara wheel squeaks")
    name = default_model(helix.stack.models).name
    home.models.symlink_to(helix.stack.models)
    published = current_number(home.data)

    def end(*_: object) -> None:
        raise TemporaryError("NATS is gone")

    with monkeypatch.context() as patched:
        patched.setattr("helix_cli.rebuilding.rebuild.choose_model", end)
        runner = CliRunner(env={"HELIX_HOME": str(home.root)})
        assert "NATS is gone" in runner.invoke(app, ["models", "use", name, "--again"]).output
    assert current_number(home.data) != published
    assert "in use already" in helix.run("models", "use", name)
    assert {path.name for path in (home.data / "rebuilding").iterdir()} == {"live.lock"}
    made = current_number(home.data) or 0
    helix.until(lambda: helix.client.status().generation >= made, "it is not served")
    helix.until(lambda: helix.texts("Mara wheel squeaks").count(wanted) == 1, "the statements are lost")
    helix.until_idle()
    assert len(helix.server.requests) == asked
