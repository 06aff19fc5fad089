#!/usr/bin/env python3
"""`make demo`: Helix from nothing to answers in a fresh folder, then stopped and removed again.

Starts NATS and every service, publishes the sample (`sample`), waits until all of it can be recalled,
asks eight questions over gRPC and ends with 0 only when each was answered as questions.toml expects.
Downloads nothing, listens on 127.0.0.1 alone, touches nothing but a temporary folder and the models.

`run.py --nats URL --query ADDRESS` publishes the sample to a stack that runs already and asks it; with
`--asks-only` it publishes nothing.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from sample import PROJECT, TENANT, USER, Question, load_questions, load_sample

from helix_cli.clients.broker import connected, run_async
from helix_cli.stack.stack import Stack
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory import events
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import HelixError
from helix_shared.settings import helix_home
from helix_shared.telemetry.logs import configure_logging

SHOWN: Final = 3
WAIT_SECONDS: Final = 150.0
TEXT_CHARACTERS: Final = 150
PLAIN_WIDTH: Final = 110
"""Columns when the output goes to a file or a pipe."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one question."""

    question: Question
    reply: recall_pb2.RecallResponse

    @property
    def rank(self) -> int:
        """Rank of the expected memory, 0 when it is not among the shown ones."""
        ranks = [found.rank for found in self.reply.memories[:SHOWN] if self.expects(found)]
        return min(ranks, default=0)

    @property
    def passed(self) -> bool:
        """Whether it came out as the question expects."""
        return self.rank > 0 if self.question.expected else self.reply.route.skipped

    def expects(self, found: recall_pb2.RecalledMemory) -> bool:
        """Whether this is the memory the question is after."""
        return found.memory.source.event_id in self.question.expected


def main() -> int:
    """Run the demo; 0 when every question was answered as expected."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    configure_logging(log_format="console", level="CRITICAL", service="demo")
    options = argparse.ArgumentParser()
    options.add_argument("--nats", default="")
    options.add_argument("--query", default="")
    options.add_argument("--asks-only", action="store_true")
    given = options.parse_args()
    if given.nats and given.query:
        return 0 if ask_running(console, given.nats, given.query, asks_only=given.asks_only) else 1
    if given.nats or given.query or given.asks_only:
        options.error("a running stack is named by both --nats and --query")
    home = Path(tempfile.mkdtemp(prefix="helix-demo-"))
    try:
        passed = demonstrate(console, home)
    except KeyboardInterrupt:
        console.print("\nstopped")
        passed = False
    except HelixError as error:
        console.print(f"\n[red]The demo could not finish:[/] {escape(str(error))}")
        passed = False
    if passed:
        shutil.rmtree(home, ignore_errors=True)
    else:
        console.print(f"logs: {home / 'logs'}")
    return 0 if passed else 1


def demonstrate(console: Console, home: Path) -> bool:
    """The demo itself; whether every question was answered as expected."""
    console.print()
    console.print("[bold]Helix[/]  an agent's autumn, remembered. No GPU, no key, no network.")
    console.print()
    stack = Stack(home, nats_port=0, query_port=0, models=helix_home() / "models")
    with step(console, "start NATS and six services"):
        stack.start()
    try:
        with step(console, "wait until they answer") as result:
            stack.wait_ready()
            result.append(stack.model)
        answers = question(console, stack.nats_url, stack.query_address)
    finally:
        console.print()
        with step(console, "stop everything"):
            stack.stop()
    return conclude(console, answers)


def ask_running(console: Console, nats_url: str, query_address: str, *, asks_only: bool) -> bool:
    """The same with a stack that somebody else started; whether every question was answered as expected."""
    try:
        return conclude(console, question(console, nats_url, query_address, asks_only=asks_only))
    except HelixError as error:
        console.print(f"[red]The demo could not finish:[/] {escape(str(error))}")
        return False


def question(console: Console, nats_url: str, query_address: str, *, asks_only: bool = False) -> list[Answer]:
    """Publish the sample, wait until all of it can be recalled, and ask."""
    asked_at, questions = load_questions()
    if not asks_only:
        sample = load_sample()
        with step(console, f"publish {len(sample)} events") as result:
            publish(nats_url, sample)
            result.append(span(sample))
    with RecallClient(query_address) as client:
        with step(console, "wait until all of it can be recalled") as result:
            run_async(wait_recallable(nats_url, query_address, wait_seconds=WAIT_SECONDS))
            reached = client.status()
            result.append(f"{reached.memories} memories, {reached.entities} entities, {reached.edges} edges")
        return [show(console, n, ask(client, q, asked_at)) for n, q in enumerate(questions, start=1)]


@contextmanager
def step(console: Console, what: str) -> Iterator[list[str]]:
    """One line per step with its duration; the entries of the yielded list follow on that line."""
    result: list[str] = []
    began = time.monotonic()
    with console.status(f"  {what}"):
        yield result
    took = time.monotonic() - began
    console.print(f"  {what:<38} [dim]{took:5.1f} s   {escape('; '.join(result))}[/]")


def span(sample: list[events.Event]) -> str:
    """How many sessions between which days."""
    times = [event.occurred_at for event in sample if event.occurred_at]
    sessions = len({event.session_id for event in sample})
    return f"{sessions} sessions, {min(times):%-d %B} to {max(times):%-d %B %Y}"


def publish(nats_url: str, sample: list[events.Event]) -> None:
    """Publish in order, each acknowledged."""

    async def work() -> None:
        async with connected(nats_url) as jetstream:
            publisher = Publisher(jetstream)
            for event in sample:
                await publisher.publish_event(event)

    run_async(work())


def ask(client: RecallClient, question: Question, asked_at: datetime) -> Answer:
    """Ask as an agent that works for Mira on Atlas would."""
    request = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id=TENANT, user_id=USER),
        query=question.text,
        top_k=SHOWN,
        now=asked_at,
        project_id=PROJECT,
    )
    return Answer(question, client.recall(request))


def show(console: Console, number: int, answer: Answer) -> Answer:
    """Print one question with its answer; returns the answer."""
    mark = "[green]✓[/]" if answer.passed else "[red]✗[/]"
    console.print()
    console.print(
        f"{mark} [bold]{number}  {escape(answer.question.text)}[/]   [dim]{answer.question.title}[/]"
    )
    if answer.reply.route.skipped:
        console.print(
            Padding(Text(f"no memory needed: {answer.reply.route.reason}", style="dim"), (0, 0, 0, 5))
        )
    else:
        console.print(Padding(memories(answer), (0, 0, 0, 5)))
    console.print(Padding(Text(times(answer.reply), style="dim"), (0, 0, 0, 5)))
    if not answer.passed:
        console.print(Padding(Text(f"expected: {wanted(answer.question)}", style="red"), (0, 0, 0, 5)))
    return answer


def memories(answer: Answer) -> Table:
    """The first memories; the expected one is highlighted."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("mark", "rank", "relevance", "type", "date"):
        table.add_column(name, no_wrap=True, style="dim")
    table.add_column("text", ratio=1)
    for found in answer.reply.memories[:SHOWN]:
        memory = found.memory
        text = Text(shortened(memory.text), style="default" if answer.expects(found) else "dim")
        date = memory.occurred_at.ToDatetime().date().isoformat()
        mark = "●" if answer.expects(found) else " "
        table.add_row(mark, str(found.rank), f"{found.relevance:.2f}", memory.type, date, text)
    return table


def times(reply: recall_pb2.RecallResponse) -> str:
    """Time of the whole recall and of its stages."""
    stages = "  ".join(f"{stage.stage} {stage.milliseconds:.1f}" for stage in reply.stages)
    return f"{reply.total_milliseconds:.1f} ms   {stages}"


def wanted(question: Question) -> str:
    """What the question expects, for a failure."""
    return " or ".join(question.expected) or "that the router skips it"


def shortened(text: str) -> str:
    """One line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= TEXT_CHARACTERS:
        return line
    return line[:TEXT_CHARACTERS].rsplit(" ", 1)[0] + " …"


def conclude(console: Console, answers: list[Answer]) -> bool:
    """The last line, and whether every answer passed."""
    passed = sum(answer.passed for answer in answers)
    slowest = max(answer.reply.total_milliseconds for answer in answers)
    colour = "green" if passed == len(answers) else "red"
    console.print()
    outcome = f"{passed} of {len(answers)} questions answered as expected"
    console.print(f"[{colour}]{outcome}[/], the slowest in {slowest:.0f} ms.")
    console.print(
        "[dim]Your own memory: `helix up`, then `helix publish` and `helix recall`; see README.md.[/]"
    )
    return passed == len(answers)


if __name__ == "__main__":
    sys.exit(main())
