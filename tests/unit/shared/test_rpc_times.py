from typing import Any

import grpc
import pytest
from prometheus_client import REGISTRY

from helix_shared.errors import NotFoundError
from helix_shared.rpc.guard import guarded, guarded_stream


class Context:
    """A call that can be aborted."""

    async def abort(self, code: grpc.StatusCode, *_: Any) -> None:
        """As grpc does, by an error."""
        raise grpc.aio.AbortError(code)


def calls(rpc: str) -> dict[str, float]:
    """Number of timed calls by status code."""
    [family] = [one for one in REGISTRY.collect() if one.name == "helix_rpc_seconds"]
    return {
        sample.labels["code"]: sample.value
        for sample in family.samples
        if sample.name.endswith("_count") and sample.labels["rpc"] == rpc
    }


async def test_a_call_is_timed_once_under_its_status() -> None:
    """Answers and refusals are told apart; a refusal is not counted as cancelled as well."""

    async def call(request: str, _context: Any) -> str:
        if request == "unknown":
            raise NotFoundError("nothing has this id")
        return request

    answer = guarded(call, rpc="test-call")
    await answer("known", Context())
    with pytest.raises(grpc.aio.AbortError):
        await answer("unknown", Context())
    assert calls("test-call") == {"OK": 1, "NOT_FOUND": 1}


async def test_a_stream_is_timed_at_its_end() -> None:
    """Also one that the caller leaves before."""

    async def call(request: str, _context: Any) -> Any:
        for letter in request:
            yield letter

    answer = guarded_stream(call, rpc="test-stream")
    assert [letter async for letter in answer("abc", Context())] == ["a", "b", "c"]
    left: Any = answer("abc", Context())
    await anext(left)
    await left.aclose()
    assert calls("test-stream") == {"OK": 1, "CANCELLED": 1}
