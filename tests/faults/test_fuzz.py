"""Hostile events and queries: nothing crashes, every refusal is a documented one, no call hangs."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest

from helix_cli.stack.stack import Stack
from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.memories_builder import MemoriesBuilder
from helix_memory import events, subjects
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.errors import PermanentError
from helix_shared.published import published_event

from . import fuzz
from .conftest import Report
from .test_poison import run, until_memories, write

pytestmark = pytest.mark.faults

CALLS = 1_000_000
SLICE = 10_000
"""Events after which the row of the report is brought up to date, and a crash ends the test."""
GOLDEN = Path(__file__).parents[1] / "golden"
BUILT = 10
"""One in so many accepted events also goes through extraction and embedding."""
EVENT_SECONDS = 30.0
"""Of processor time, so that other work on the machine does not count."""
DEADLINE_SECONDS = 10.0
HANGS_SECONDS = 30.0
AT_ONCE = 16
MEMORIES = 200
DOCUMENTED = {"OK", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"}
"""Of Recall, by recall.proto and the runbook; what INTERNAL and UNKNOWN say is a defect."""
RECALL = "/helix.recall.v1.RecallService/Recall"
WITHOUT_PROTECTION = """
import sys

if "helix_query" in getattr(sys, "orig_argv", []):
    from helix_shared.rpc import guard

    guard.tolerant = lambda parse: parse
"""


def bodies(dice: random.Random, count: int) -> Iterator[tuple[str, bytes]]:
    """Subjects and bodies of hostile events, of every kind in turn."""
    valid = {kind: json.loads((GOLDEN / f"{kind}.json").read_text()) for kind in events.EVENT_MODELS}
    fields = {kind: tuple(model.model_fields) for kind, model in events.EVENT_MODELS.items()}
    for kind in itertools.islice(itertools.cycle(valid), count):
        sound = valid[kind]
        subject = subjects.event_subject(sound["tenant_id"], sound.get("session_id", ""), kind)
        yield subject, fuzz.event_body(dice, sound, fields[kind])


def outcomes(
    dice: random.Random, count: int, read: Callable[[str, bytes], events.Event], builder: MemoriesBuilder
) -> tuple[Counter[str], float]:
    """How many events ended how, and the processor time of the slowest; no refusal: a crash."""
    ended: Counter[str] = Counter()
    slowest = 0.0
    for subject, body in bodies(dice, count):
        began = time.process_time()
        try:
            event = read(subject, body)
            ended["accepted"] += 1
            if event.kind not in events.LIFECYCLE_KINDS and ended["accepted"] % BUILT == 0:
                builder.build(LoggedEvent(event, 1, datetime.now(UTC)), [])
                ended["built"] += 1
        except PermanentError:
            ended["refused"] += 1
        except BaseException as error:  # also a panic of a native library
            if isinstance(error, KeyboardInterrupt):
                raise
            ended[f"crash {type(error).__name__}"] += 1
        slowest = max(slowest, time.process_time() - began)
    return ended, slowest


def crashes(ended: Counter[str]) -> dict[str, int]:
    """The crashes among the outcomes."""
    return {name: count for name, count in ended.items() if name.startswith("crash")}


@pytest.mark.timeout(14_400)
def test_fuzzed_events_are_read_or_refused(models_dir: Path, report: Report) -> None:
    """What ingest does with the bytes of an event ends with its memories or with a reason."""
    count = report.scaled(CALLS, least=1_000)
    with Encoder.load(default_model(models_dir)) as encoder:
        builder = MemoriesBuilder(encoder, 256)
        dice, ended, slowest = random.Random(report.seed), Counter[str](), 0.0
        began = time.process_time()
        for done in range(SLICE, count + SLICE, SLICE):
            part, longest = outcomes(dice, SLICE - max(0, done - count), published_event, builder)
            ended, slowest = ended + part, max(slowest, longest)
            rate = min(done, count) / (time.process_time() - began)
            report.counts = {"events": min(done, count)} | dict(ended)
            crashed = sum(crashes(ended).values())
            report.figure = (
                f"{crashed} crashes, slowest {slowest:.2f} s, {rate:.0f} a second of processor time"
            )
            assert crashes(ended) == {}
        assert min(ended["accepted"], ended["built"], ended["refused"]) > 0, "all ways are taken"
        assert slowest < EVENT_SECONDS
        unguarded, _ = outcomes(
            random.Random(report.seed), 1_000, lambda _, body: events.parse_event(body), builder
        )
    report.control(crashes(unguarded) != {}, "without the typed refusal an event is an unexpected error")


async def statuses(address: str, dice: random.Random, count: int) -> tuple[Counter[str], float]:
    """The status codes of hostile recalls, some at once, and the time of the slowest."""
    codes: Counter[str] = Counter()
    times = [0.0]
    left = iter(range(count))
    async with grpc.aio.insecure_channel(address) as channel:
        recall = channel.unary_unary(RECALL)

        async def ask() -> None:
            for _ in left:
                body, began = fuzz.recall_body(dice), time.monotonic()
                try:
                    await recall(body, timeout=HANGS_SECONDS)
                    codes["OK"] += 1
                except grpc.aio.AioRpcError as error:
                    codes[error.code().name] += 1
                times.append(time.monotonic() - began)
                times[:] = [max(times)]

        await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    return codes, times[0]


def fuzzed(
    home: Path, models: Path, dice: random.Random, count: int, path: str = ""
) -> tuple[Counter[str], float]:
    """Status codes and calls a second of a query service, whose processes must not be started again."""
    environment = {"HELIX_QUERY_DEADLINE_SECONDS": str(DEADLINE_SECONDS), "PYTHONPATH": path}
    with Stack(home, nats_port=0, query_port=0, models=models, environment=environment) as stack:
        stack.wait_ready()
        write(home / "events.jsonl", MEMORIES)
        assert run(home, "publish", str(home / "events.jsonl"))[0] == 0
        until_memories(home, MEMORIES)
        before = {child.name: child.pid for child in stack.processes}
        began = time.monotonic()
        codes, slowest = asyncio.run(statuses(stack.query_address, dice, count))
        rate = count / (time.monotonic() - began)
        assert {child.name: child.pid for child in stack.processes} == before, "no process died"
    assert slowest < HANGS_SECONDS, "a call hangs, although the service has a deadline"
    return codes, rate


@pytest.mark.timeout(28_800)
def test_fuzzed_queries_get_documented_statuses(tmp_path: Path, models_dir: Path, report: Report) -> None:
    """A recall ends with an answer or a documented refusal, and the service lives on."""
    count = report.scaled(CALLS, least=500)
    codes, rate = fuzzed(tmp_path / "home", models_dir, random.Random(report.seed), count)
    report.counts = {"queries": count} | dict(codes)
    undocumented = sum(codes[code] for code in codes.keys() - DOCUMENTED)
    report.figure = f"{undocumented} undocumented, {rate:.0f} a second"
    assert undocumented == 0
    assert min(codes["OK"], codes["INVALID_ARGUMENT"]) > 0, "both ways are taken"
    (tmp_path / "fault").mkdir()
    (tmp_path / "fault" / "sitecustomize.py").write_text(WITHOUT_PROTECTION)
    unguarded, _ = fuzzed(
        tmp_path / "control", models_dir, random.Random(report.seed), 500, str(tmp_path / "fault")
    )
    report.control(bool(unguarded.keys() - DOCUMENTED), "grpc answers malformed bytes with an internal error")
