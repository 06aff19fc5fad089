"""No work on a query is cached or shared, so timing reveals nothing about the queries of others."""

import functools
import gc
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_query.generations.current import CurrentGeneration
from helix_query.profile.files import load_profiles
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.query import Query
from helix_query.recall.recall import recall
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.broker.server import free_port
from helix_shared.encoders.vector_cache import text_key

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
QUERY = "which colour has the heron of the harbour"
CALLERS = (("acme", "ann"), ("globex", "ann"), ("acme", "bob"), ("acme", "ann"))


@pytest.fixture(scope="module")
def metrics() -> str:
    """Address of the metrics of service `measured`."""
    return f"http://127.0.0.1:{free_port()}/metrics"


@pytest.fixture
def measured(corpus: Any, start: Any, metrics: str) -> Iterator[Any]:
    """A service with a metrics port, on memories of two tenants."""
    corpus.add(
        [
            {"text": f"The heron of the harbour is grey, as note {number} says.", "tenant_id": tenant}
            for tenant in ("acme", "globex")
            for number in range(5)
        ]
    )
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_METRICS_PORT=metrics.rpartition(":")[2].partition("/")[0])
    service.wait_for(lambda at: at.health() == "SERVING")
    return service


def embeddings(address: str) -> dict[str, int]:
    """Number of vectors by source, by the metric of the service."""
    with urllib.request.urlopen(address, timeout=10) as page:  # noqa: S310 - an address of this machine
        lines = page.read().decode().splitlines()
    found = [line for line in lines if line.startswith("helix_embeddings_total{")]
    return {line.partition('"')[2].partition('"')[0]: int(float(line.split()[-1])) for line in found}


def test_every_query_is_embedded_again(measured: Any, metrics: str) -> None:
    """For another tenant, another user or the same one, in sequence, in parallel and in a batch."""
    before = embeddings(metrics)
    for count, (tenant, user) in enumerate(CALLERS, start=1):
        reply = measured.recall(QUERY, tenant=tenant, user=user)
        assert reply.memories
        assert embeddings(metrics)["model"] == before["model"] + count
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda caller: measured.recall(QUERY, tenant=caller[0], user=caller[1]), CALLERS * 2))
    asked = [recall_pb2.RecallRequest(query=QUERY) for _ in range(3)]
    batch = recall_pb2.BatchRecallRequest(scope=recall_pb2.Scope(tenant_id="globex"), requests=asked)
    measured.stub().BatchRecall(batch, timeout=10)
    after = embeddings(metrics)
    assert after["model"] == before["model"] + len(CALLERS) * 3 + len(asked)
    assert after.get("cache", 0) == before.get("cache", 0) == 0


def test_why_not_embeds_its_query_once(measured: Any, metrics: str) -> None:
    """It runs the same query up to fifty times, for one caller."""
    [memory] = measured.recall("note 4 of the heron", top_k=1).memories
    before = embeddings(metrics)["model"]
    request = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id="acme"), query=QUERY, top_k=1, now=NOW, never_skip=True
    )
    missed = recall_pb2.WhyNotRequest(recall=request, memory_id=memory.memory.memory_id)
    measured.stub().WhyNot(missed, timeout=10)
    assert embeddings(metrics)["model"] == before + 1


def contents(holder: Any) -> list[Any]:
    """The objects that an object refers to; the collector leaves out keys of a dict that are all text."""
    return [*list(holder), *list(holder.values())] if type(holder) is dict else gc.get_referents(holder)


def holders(text: str) -> list[str]:
    """Types of the objects of this process that refer to a string with `text` in it, or to its key."""
    key = text_key(text)
    gc.collect()
    tracked = gc.get_objects()
    visited, waiting, found = {id(tracked)}, list[Any](), list[str]()
    for holder in tracked:
        waiting.append(holder)
        while waiting:
            holding = waiting.pop()
            for held in contents(holding):
                if (isinstance(held, str) and held is not text and text in held) or (
                    isinstance(held, bytes) and held is not key and held == key
                ):
                    found.append(type(holding).__name__)
                # the collector does not list a dict or tuple of text and numbers only
                elif isinstance(held, dict | tuple) and not gc.is_tracked(held) and id(held) not in visited:
                    visited.add(id(held))
                    waiting.append(held)
    return found


def cached_call(*arguments: Any) -> Any:
    """A cached function after one call."""
    cached = functools.lru_cache(8)(lambda *given: len(given))
    cached(*arguments)
    return cached


def test_usual_caches_would_be_found() -> None:
    """Keyed by text, tenant and text, or digest, as a value, in an `lru_cache`: the next test can fail."""
    words = ("a", "question", "that", "only", "this", "test", "asks")
    text = " ".join(words)
    planted = [
        {text: np.zeros(3)},
        {("acme", text): 1.0},
        {text: 1.0},
        {1: {"said": f"<{text}>"}},
        {text},
        cached_call(text),
        cached_call(text, 2),
        {text_key(text): np.zeros(3)},
    ]
    del text
    assert len(holders(" ".join(words))) >= len(planted)
    planted.clear()
    assert holders(" ".join(words)) == []


def test_no_object_keeps_a_query_after_its_answer(corpus: Any, models_dir: Path, tmp_path: Path) -> None:
    """Neither its text nor its key."""
    corpus.add([{"text": f"The heron of the harbour is grey, as note {number} says."} for number in range(5)])
    corpus.publish()
    profiles = {name: one for name, one in load_profiles().items() if not one.rerank.late_interaction_model}
    current = CurrentGeneration(
        corpus.root, models_dir, scratch=tmp_path / "scratch", profile=profiles["helix"]
    )
    assert current.refresh()
    words = ("who", "saw", "the", "heron", "of", "the", "harbour", "before", "the", "flood", "last", "week")

    def ask(profile: str) -> int:
        question = Query(" ".join(words), Selection("acme"), NOW, NOW, profile=profile, never_skip=True)
        with current.lease() as served:
            lanes = dict.fromkeys(LANES, pool)
            context = RecallContext.of(question, served, profiles[profile])
            answer = recall(context, lanes=lanes, channel_deadline_seconds=30)
        return len(answer.rows)

    with ThreadPoolExecutor(8) as pool:
        assert all(ask(profile) for profile in profiles)
    assert holders(" ".join(words)) == []
    current.close()
