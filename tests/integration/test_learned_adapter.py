"""A tenant's own words are learned from its feedback and served for it alone: with all processes."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app as helix
from helix_cli.clients.broker import connected
from helix_cli.stack.stack import Stack
from helix_lab.commands import app as lab
from helix_memory import subjects
from helix_memory.events import EraseEvent, Event, FeedbackEvent, MemoryEvent
from helix_memory.events.codec import encode_event
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.learned_adapters import read_learned_card, state_of
from helix_shared.errors import InvalidInputError

pytestmark = pytest.mark.integration

NAMES = {
    "Aurora dosing pump": "the blue thing",
    "Kestrel packaging line": "Bertha",
    "Halvorsen maintenance contract": "the marriage",
    "north warehouse": "Siberia",
    "Tessera billing service": "the cash cow",
    "Rivermouth account": "the whale",
    "Sable forklift": "Garfield",
    "Vantaa test bench": "the guillotine",
    "Pemberton loan": "the millstone",
    "Calder laboratory": "the witches' kitchen",
    "Hestia boiler": "Grandma",
    "Stockwell office lease": "the noose",
}
"""What the memories say, and what the people of the tenant say."""
FACTS = (
    ("The {} is looked after by {who}.", "who takes care of {}?"),
    ("The budget for the {} this year is {amount} euros.", "how much money do we have for {}?"),
    ("The {} caused an outage in {month} because of {cause}.", "why did {} go down?"),
    ("We decided to replace the {} by the end of {month}.", "until when do we keep {}?"),
    ("The next inspection of the {} is on {amount} {month}.", "when does somebody examine {}?"),
    ("The password for the {} is kept in the vault of {who}.", "how do I get into {}?"),
    ("Documentation of the {} lives in folder {amount}.", "where can I read up on {}?"),
)
WHO = ("Ana Brandt", "Tomas Okafor", "Mira Weber", "Jonas Nair", "Edda Hansen")
CAUSES = ("a worn seal", "a power cut", "a full disk", "frost")
MONTHS = ("March", "April", "June", "October")
QUESTIONS = [
    (ask.format(said), place * len(FACTS) + fact)
    for place, said in enumerate(NAMES.values())
    for fact, (_, ask) in enumerate(FACTS)
]
"""A question in the words of the tenant, and the place of the memory that answers it."""
NEVER_GIVEN = QUESTIONS[4::7]
GIVEN = [one for one in QUESTIONS if one not in NEVER_GIVEN]
FEW = 20


def memories(tenant: str) -> list[MemoryEvent]:
    """What a tenant knows, in official words."""
    found = []
    for place, name in enumerate(NAMES):
        for fact, (text, _) in enumerate(FACTS):
            number = place * len(FACTS) + fact
            values = {"who": WHO[number % 5], "amount": 3 + number % 24, "month": MONTHS[number % 4]}
            values["cause"] = CAUSES[number % 3]
            event = {"event_id": f"m{number:03d}", "tenant_id": tenant, "text": text.format(name, **values)}
            found.append(MemoryEvent.model_validate(event))
    return found


def publish(stack: Stack, client: RecallClient, events: Sequence[Event]) -> None:
    """Publish events and wait until the served generation holds them."""

    async def send() -> int:
        last = 0
        async with connected(stack.nats_url) as jetstream:
            for event in events:
                subject = subjects.event_subject(event.tenant_id, event.session_id, event.kind)
                header = {"Nats-Msg-Id": f"{event.tenant_id}:{event.event_id}"}
                last = (await jetstream.publish(subject, encode_event(event), headers=header)).seq
        return last

    sequence = asyncio.run(send())
    until(lambda: client.status().applied_sequence >= sequence)


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def ask(client: RecallClient, tenant: str, query: str, **fields: Any) -> Any:
    """Ten memories; the router skips nothing."""
    scope = recall_pb2.Scope(tenant_id=tenant)
    return client.recall(
        recall_pb2.RecallRequest(scope=scope, query=query, top_k=10, never_skip=True, **fields)
    )


def answers(client: RecallClient, tenant: str) -> list[list[tuple[str, float, float]]]:
    """Everything that the questions never given as feedback return, with all digits of the scores."""
    replies = [ask(client, tenant, question) for question, _ in NEVER_GIVEN]
    return [[(one.memory.memory_id, one.score, one.relevance) for one in reply.memories] for reply in replies]


def reciprocal_ranks(replies: list[list[tuple[str, float, float]]], ids: list[str]) -> float:
    """Sum of the reciprocal ranks of the answers; 0 for one that is not among the ten."""
    ranks = []
    for (_, place), reply in zip(NEVER_GIVEN, replies, strict=True):
        names = [name for name, *_ in reply]
        ranks += [1 / (1 + names.index(ids[place]))] if ids[place] in names else []
    return sum(ranks)


def feedback(ids: list[str], some: Sequence[tuple[str, int]]) -> list[FeedbackEvent]:
    """What a user says about the answers."""
    return [
        FeedbackEvent(
            event_id=f"f-{place}", tenant_id="mill", user_id="ana", query=question, helpful=[ids[place]]
        )
        for question, place in some
    ]


def query_adapter(client: RecallClient, tenant: str, **fields: Any) -> str:
    """Which adapter moved a question."""
    reply = ask(client, tenant, QUESTIONS[0][0], explain=True, **fields)
    return str(reply.explanation.query_adapter)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """A running stack without the workers that only enrich."""
    home, unused = tmp_path_factory.mktemp("home"), dict.fromkeys(("doc2query", "kg"), 0)
    with Stack(home, nats_port=0, query_port=0, copies=unused, models=models_dir) as running:
        running.wait_ready()
        yield running


def fit(stack: Stack, *more: str) -> str:
    """Run `helix-lab adapter --from-feedback`; its errors are raised."""
    command = ["adapter", "--from-feedback", "--tenant", "mill", "--home", str(stack.home.root)]
    return (
        CliRunner()
        .invoke(lab, [*command, "--models", str(stack.models), *more], catch_exceptions=False)
        .stdout
    )


@pytest.mark.long
def test_the_words_of_a_tenant_are_learned_served_for_it_alone_and_erased(stack: Stack) -> None:
    """Too few questions are refused; an erased memory takes along what was learned with it."""
    data = stack.home.data
    with RecallClient(stack.query_address) as client:
        publish(stack, client, [*memories("mill"), *memories("other")])
        ids = []
        for event in memories("mill"):
            [memory_id] = [
                one.memory.memory_id
                for one in ask(client, "mill", event.text).memories
                if one.memory.text == event.text
            ]
            ids.append(memory_id)
        before, others = answers(client, "mill"), answers(client, "other")
        assert query_adapter(client, "mill") == "package"

        publish(stack, client, feedback(ids, GIVEN[:FEW]))
        with pytest.raises(InvalidInputError, match=f"has {FEW} questions .* a fit needs 60"):
            fit(stack)
        assert state_of(data, "mill") is None

        publish(stack, client, feedback(ids, GIVEN[FEW:]))
        assert "adapter 1 of 72 questions is served" in fit(stack)
        card = read_learned_card(data, "mill")
        assert card.held_out["R@10"].after > card.held_out["R@10"].before + 0.1
        assert card.held_out["MRR@10"].low > 0
        assert query_adapter(client, "mill") == "learned 1"
        after = answers(client, "mill")
        assert reciprocal_ranks(after, ids) > reciprocal_ranks(before, ids) + 3

        assert query_adapter(client, "other") == "package"
        assert answers(client, "other") == others
        now = client.status().published_at
        assert query_adapter(client, "mill", as_of=now) == "package"
        status = CliRunner(env={"HELIX_HOME": str(stack.home.root)}).invoke(helix, ["status", "--json"])
        assert json.loads(status.stdout)["query"]["learned_adapters"] == {"fitting": 1, "refused": 0}

        publish(stack, client, [EraseEvent(event_id="e", tenant_id="mill", memory_ids=[ids[GIVEN[0][1]]])])
        until(lambda: state_of(data, "mill") is None)
        assert query_adapter(client, "mill") == "package"
        assert not (data / "adapters" / "mill").exists()
