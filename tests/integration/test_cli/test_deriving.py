"""The processes in which a rebuild of many events derives their messages."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nats.aio.client import Client

from helix_cli.rebuilding.derive import Workers
from helix_cli.rebuilding.deriving import MANY, Derived, Deriving, Underived
from helix_cli.rebuilding.event_messages import EventMessages
from helix_cli.rebuilding.refusals import INGEST, Refusals
from helix_ingest.extraction.values import LoggedEvent
from helix_memory import events, subjects
from helix_memory.transport.polling import poll
from helix_shared.broker.log import LoggedMessage
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.errors import TemporaryError
from helix_shared.machine.processes import is_running

pytestmark = pytest.mark.integration

AT = datetime(2026, 9, 1, 8, tzinfo=UTC)
SAID = ("Where does Lukas live?", "He lives in Porto since March.", "Thanks!", "The seal is in the safe.")
KILLED = """
import multiprocessing, os, pathlib, signal, sys
from helix_cli.rebuilding.derive import Workers
from helix_cli.rebuilding.deriving import MANY, Deriving, Underived
from helix_shared.encoders.encoder import Encoder

if __name__ == "__main__":
    model = pathlib.Path(sys.argv[1])
    with Encoder.load(model) as encoder, Deriving(Workers.configured(encoder), model) as deriving:
        deriving.expect(MANY)
        deriving.submit([Underived("helix.events.acme.message", 1, None)]).result()
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def model(models_dir: Path) -> Path:
    """The folder of the model."""
    return default_model(models_dir)


@pytest.fixture(scope="module")
def workers(model: Path) -> Iterator[Workers]:
    """Those of this process."""
    with Encoder.load(model) as encoder:
        yield Workers.configured(encoder)


def _conversation() -> list[Underived]:
    turns: list[LoggedEvent] = []
    for number, text in enumerate(SAID, 1):
        turn = events.MessageEvent(
            event_id=f"e{number}",
            tenant_id="acme",
            session_id="s",
            role="user" if number % 2 else "assistant",
            text=text,
        )
        turns.append(LoggedEvent(turn, number, AT))
    found = [
        Underived(subjects.event_subject("acme", "s", "message"), turn.sequence, turn, turns[:number])
        for number, turn in enumerate(turns)
    ]
    return [
        *found,
        Underived(subjects.event_subject("acme", "s", "message"), 9, None, refusal="field text: is missing"),
    ]


def _document(number: int, body: str) -> LoggedMessage:
    event = events.DocumentEvent(event_id=f"d{number}", tenant_id="acme", document_id="d", body=body)
    return LoggedMessage(
        subjects.event_subject("acme", "", "document"), number, AT, events.encode_event(event)
    )


def test_processes_derive_what_threads_derive(workers: Workers, model: Path) -> None:
    """Every byte of every message, and the reasons of refusals."""
    found: list[list[Derived]] = []
    for expected in (MANY - 1, MANY):
        with Deriving(workers, model) as deriving:
            deriving.expect(expected)
            found.append(deriving.submit(_conversation()).result(60))
            assert bool(multiprocessing.active_children()) == (expected == MANY)
    assert found[0] == found[1]
    assert [len(one.messages) for one in found[0]] == [3] * (len(SAID) + 1)
    assert [one.refusal for one in found[0]] == ["", "", "", "", "field text: is missing"]


async def test_a_process_that_is_ended_is_a_trouble_that_passes(
    workers: Workers, model: Path, tmp_path: Path
) -> None:
    """A new call derives the same events."""
    found = [_document(1, "Invoices go out on Fridays."), _document(2, "Ask Jana for the seal.")]
    for ends in (True, False):
        with Deriving(workers, model) as deriving:
            deriving.expect(MANY)
            messages = EventMessages(Client(), deriving, Refusals(tmp_path), cached_bytes=0, number=0)
            if ends:
                await messages.of(found[:1])
                for child in multiprocessing.active_children():
                    os.kill(child.pid or 0, signal.SIGKILL)
                for _ in range(2):  # the first is told by a result, the second when events are handed over
                    with pytest.raises(TemporaryError, match="was ended"):
                        await messages.of(found)
            else:
                assert len(await messages.of(found)) == 6


async def test_what_ingest_refuses_is_noted_once(workers: Workers, model: Path, tmp_path: Path) -> None:
    """By the process that reads the log, whoever derives."""
    refusals = Refusals(tmp_path)
    damaged = LoggedMessage(subjects.event_subject("acme", "", "document"), 7, AT, b"{")
    with Deriving(workers, model) as deriving:
        deriving.expect(MANY)
        messages = EventMessages(Client(), deriving, refusals, cached_bytes=0, number=0)
        made = await asyncio.wait_for(messages.of([damaged, _document(8, "The van is blue.")]), 60)
    assert [message.metadata.sequence.stream for message in made] == [1, 2, 3, 4, 5, 6]
    assert set(refusals.noted()) == {(INGEST, 7)}


def test_processes_end_with_the_process_that_started_them(model: Path, tmp_path: Path) -> None:
    """Also where that one is killed."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    ended = subprocess.run(
        [sys.executable, str(script), str(model)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    children = [int(one) for one in ended.stdout.split()]
    assert children
    assert any(not any(map(is_running, children)) for _ in poll(20))
