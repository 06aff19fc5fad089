"""Fairness between a tenant with many calls and one with few, on the real server."""

import statistics
import threading
import time
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2


def flood(service: Any, stop: threading.Event, codes: list[str]) -> None:
    """Send recalls of tenant globex without a pause."""
    stub = service.stub()
    request = recall_pb2.RecallRequest(scope={"tenant_id": "globex"}, query="vault code")
    while not stop.is_set():
        try:
            stub.Recall(request, timeout=10)
            codes.append("OK")
        except grpc.RpcError as error:
            codes.append(error.code().name)
            time.sleep(0.005)


def trickle(service: Any, count: int) -> float:
    """Median seconds of a recall of tenant acme; all are answered."""
    stub, times = service.stub(), []
    for number in range(count):
        request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query=f"release marker {number}")
        began = time.monotonic()
        assert stub.Recall(request, timeout=10).memories
        times.append(time.monotonic() - began)
        time.sleep(0.01)
    return statistics.median(times)


@pytest.mark.long
def test_a_flood_of_one_tenant_does_not_starve_another(corpus: Any, start: Any) -> None:
    """All places are taken and the flood is refused; the trickle is answered after one or two other calls."""
    corpus.add([{"text": f"Release marker {number}."} for number in range(40)])
    corpus.add([{"text": f"Vault code {number}.", "tenant_id": "globex"} for number in range(40)])
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_IN_FLIGHT="16", HELIX_QUERY_THREADS="2")
    service.wait_for(lambda at: at.status().generation == 1)
    trickle(service, 5)
    solo = trickle(service, 20)
    stop, codes = threading.Event(), list[str]()
    flooding = [threading.Thread(target=flood, args=(service, stop, codes)) for _ in range(24)]
    for thread in flooding:
        thread.start()
    try:
        time.sleep(0.5)
        beside = trickle(service, 20)
    finally:
        stop.set()
        for thread in flooding:
            thread.join()
    assert set(codes) == {"OK", "RESOURCE_EXHAUSTED"}
    # one queue would make it wait for sixteen calls; the factor allows for cores shared with the clients
    assert beside < 8 * solo + 0.02
