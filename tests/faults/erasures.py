"""Canaries of every kind of event in a running stack, erased by every kind of selection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from helix_cli.residue.canaries import Canaries
from helix_cli.residue.files import residue_in_files
from helix_cli.residue.found import Residue
from helix_cli.residue.streams import residue_in_streams
from helix_cli.stack.stack import Stack
from helix_memory import subjects
from helix_memory.client import Helix, Written
from helix_memory.errors import HelixError, NotFoundError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.connection import connect
from helix_memory.transport.polling import poll
from helix_memory.transport.publisher import Publisher
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.vectors.table import open_table

TENANT: Final = "acme"
KINDS: Final = ("message", "tool", "memory", "document", "correct", "refused")
ERASED_WITHIN_SECONDS: Final = 600.0
"""Longest wait of a test; the rule (5 s and 60 s) is measured, and asserted where nothing else runs."""
APPLIED_WITHIN_SECONDS: Final = 1200.0
"""Longest wait for all that was written."""


@dataclass
class Canary:
    """One word that occurs in one event, and how that event is named."""

    word: str
    kind: str
    session: str
    written: Written | None = None


@dataclass
class Run:
    """A stack, and what was written to it."""

    stack: Stack
    helix: Helix
    canaries: list[Canary] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """The folder of the stack."""
        return self.stack.home.root

    def write(self, number: int, session: str) -> None:
        """Write one canary of a kind by its number, with turns before and after that do not go."""
        kind, word = KINDS[number % len(KINDS)], f"zq{number:05d}canary"
        canary = Canary(word, kind, session)
        kept = f"Keep-{session}-{number}"
        if kind == "message":
            self.helix.message(f"Where does {word} Miller live?", session=session, speaker="Ann")
            canary.written = self.helix.message(
                f"She lives in {word.capitalize()} Street 7.", session=session, speaker="Bob"
            )
        elif kind == "tool":
            canary.written = self.helix.tool("bash", command=f"make {word}", error=word, session=session)
        elif kind == "document":
            body = "\n\n".join(f"# Part {n}\n\n" + f"About {word} and port {n}. " * 30 for n in range(3))
            canary.written = self.helix.document(f"doc-{number}", body, title=word, session=session)
        elif kind == "correct":
            first = self.helix.remember(f"The code of {word} is 1.", session=session)
            canary.written = self.helix.correct(first, f"The code of {word} is 2.", session=session)
        elif kind == "refused":
            canary.written = self._refused(word, session)
        else:
            canary.written = self.helix.remember(f"{word.upper()} prefers tea.", session=session)
        self.kept.append(kept)
        self.helix.message(f"Thanks, noted as {kept}.", session=session, speaker="Ann")
        self.canaries.append(canary)

    def _refused(self, word: str, session: str) -> Written:
        """An event that ingest refuses: its text is in the log and in a dead letter."""
        event_id = f"bad-{word}"
        body = {
            "kind": "message", "event_id": event_id, "tenant_id": TENANT, "session_id": session,
            "user_id": "ann", "text": word, "role": "nobody",
        }  # fmt: skip
        sequence = self.publish(subjects.event_subject(TENANT, session, "message"), body, event_id)
        return Written(event_id, "", sequence, duplicate=False)

    def publish(self, subject: str, body: dict[str, Any], message_id: str) -> int:
        """Publish a body as it is; returns its sequence."""

        async def send() -> int:
            client = await connect(self.stack.nats_url, name="test")
            try:
                sent = json.dumps(body).encode()
                receipt = await Publisher(client.jetstream()).publish(subject, sent, message_id=message_id)
                return receipt.sequence
            finally:
                await client.close()

        return asyncio.run(send())

    def canaries_to_find(self) -> Canaries:
        """All words, with the vectors that the rows with one of them have now."""
        data = self.home / "data"
        number = current_number(data)
        assert number is not None
        table = open_table(folder_of(data, number))
        rows = table.search().limit(max(int(table.count_rows()), 1)).to_arrow().to_pylist()
        words = [canary.word for canary in self.canaries]
        said = [(row, f"{row['text']}\n{row['context']}".lower()) for row in rows]
        named = [row for row, text in said if any(word in text for word in words)]
        return Canaries.of_words([*words, *map(str.capitalize, words), *map(str.upper, words)], named)

    def residue(self, canaries: Canaries) -> Residue:
        """What is found now, by place."""

        async def streams() -> Residue:
            client = await connect(self.stack.nats_url, name="test")
            try:
                return await residue_in_streams(client.jetstream(), canaries)
            finally:
                await client.close()

        return residue_in_files(self.home, canaries) + asyncio.run(streams())

    def recalled(self) -> list[str]:
        """The words that a recall still returns."""
        found = []
        for canary in self.canaries:
            answer = self.helix.recall(canary.word, never_skip=True, top_k=50, deadline_seconds=30)
            shown = json.dumps([(one.text, one.context) for one in answer.memories]) + answer.context
            if canary.word in shown.lower():
                found.append(canary.word)
        return found

    def wait_clean(self, canaries: Canaries, name: str, *, after: Written | None = None) -> None:
        """Wait until `after` is applied, and until nothing is found anywhere; note how long each took.

        Meanwhile every word is asked for once: from now on no recall may return one.
        """
        began = time.monotonic()
        if after is not None:
            self.helix.wait(after)
        self.seconds[f"{name}: not recallable"] = time.monotonic() - began
        with ThreadPoolExecutor(1) as beside:
            recalled = beside.submit(self.recalled)
            found = self.residue(canaries)
            for _ in poll(ERASED_WITHIN_SECONDS, every_seconds=1.0):
                if not found:
                    break
                found = self.residue(canaries)
            assert not found, found
            self.seconds[f"{name}: no residue"] = time.monotonic() - began
            assert not recalled.result()

    def receipt(self, written: Written) -> recall_pb2.GetErasureResponse:
        """The receipt of an erasure once it is complete."""
        reply = None
        for _ in poll(ERASED_WITHIN_SECONDS):
            with contextlib.suppress(NotFoundError):
                reply = self.helix.receipt(written)
                if reply.complete:
                    return reply
        raise AssertionError(f"not complete: {reply}")


@contextlib.contextmanager
def running(home: Path, models: Path) -> Iterator[Run]:
    """A stack and a client of user ann."""
    with Stack(home, nats_port=0, query_port=0, models=models, copies={"forwarder": 0}) as stack:
        stack.wait_ready()
        nats, query = (int(one.rpartition(":")[2]) for one in (stack.nats_url, stack.query_address))
        with Helix(
            tenant=TENANT, user="ann", nats_port=nats, query_port=query, wait_seconds=APPLIED_WITHIN_SECONDS
        ) as helix:
            yield Run(stack, helix)


@contextlib.contextmanager
def ingest_going_on(run: Run, *, every_seconds: float = 0.15) -> Iterator[None]:
    """Inside, another user's turns come without an end."""
    ending = threading.Event()

    def publish() -> None:
        number = 0
        while not ending.wait(every_seconds):
            number += 1
            with contextlib.suppress(HelixError):
                run.helix.message(f"Turn {number} of the background is about rain.", session="background")

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def erase_all(run: Run) -> list[Written]:
    """Erase the canaries by session, document, ids and, in the end, user; returns what was written."""
    erased = []
    by_session = sorted({c.session for c in run.canaries if int(c.session[1:]) % 3 == 0})
    erased += [run.helix.erase(of_session=session) for session in by_session]
    rest = [c for c in run.canaries if c.session not in by_session]
    for canary in rest:
        if canary.kind == "document":
            erased.append(run.helix.erase(of_document=f"doc-{int(canary.word[2:7])}"))
    ids = [c.written.memory_id for c in rest if c.kind in ("tool", "memory") and c.written is not None]
    erased += [run.helix.erase(*ids[n : n + 40]) for n in range(0, len(ids), 40)]
    erased.append(run.helix.erase(of_user="ann"))
    return erased
