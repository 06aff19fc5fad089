"""A channel that fails or hangs loses only its own candidates; the other channel answers."""

import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from helix_query.recall.channels.dense import DenseChannel
from helix_query.recall.channels.lexical import LexicalChannel

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 0.2
"""Of a channel; without any answer a recall waits three times longer."""
EARLY, LATE, LATER = 0.0, 0.3, 0.4
QUESTION = "Which database did we choose?"
TEXT = "We chose the database Postgres."
CHANNELS: dict[str, Any] = {"dense": DenseChannel, "lexical": LexicalChannel}


@pytest.fixture
def service(corpus: Any, in_process: Any) -> Any:
    """A service with one memory, warmed by one recall."""
    corpus.add([{"text": TEXT}])
    corpus.publish()
    made = in_process(corpus.root, channel_deadline_seconds=DEADLINE_SECONDS, deadline_seconds=10, threads=4)
    made.recall(QUESTION)
    return made


def after(seconds: float, search: Callable[..., Any]) -> Callable[..., Any]:
    """`search` after a delay."""

    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(seconds)
        return search(*args, **kwargs)

    return slow


def failing(seconds: float) -> Callable[..., Any]:
    """A search that fails after a delay."""

    def search(*_: Any, **__: Any) -> Any:
        time.sleep(seconds)
        raise OSError("a page could not be read")

    return search


@pytest.mark.parametrize("mode", [0, 3], ids=["hybrid", "auto"])
@pytest.mark.parametrize("answers", [EARLY, LATER], ids=["answer early", "answer late"])
@pytest.mark.parametrize("fails", [EARLY, LATE, None], ids=["fails early", "fails late", "hangs"])
@pytest.mark.parametrize("broken", CHANNELS)
def test_the_other_channel_answers(
    service: Any,
    release: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
    fails: float | None,
    answers: float,
    mode: int,
) -> None:
    """Whenever one channel fails, the other answers and `degraded` names the failed one."""
    [other] = CHANNELS.keys() - {broken}
    hanging: Callable[..., Any] = lambda *_, **__: release.wait(20) and None  # noqa: E731 - one line of a table
    monkeypatch.setattr(CHANNELS[broken], "search", hanging if fails is None else failing(fails))
    monkeypatch.setattr(CHANNELS[other], "search", after(answers, CHANNELS[other].search))
    reply = service.recall(QUESTION, mode=mode, never_skip=True)
    assert [found.memory.text for found in reply.memories] == [TEXT]
    assert broken in reply.degraded
    assert other not in reply.degraded
    assert other in reply.memories[0].channels


@pytest.mark.parametrize("second", [EARLY, LATE, None], ids=["early", "late", "hangs"])
@pytest.mark.parametrize("first", [EARLY, LATE], ids=["early", "late"])
def test_without_any_channel_the_recall_is_unavailable(
    service: Any,
    release: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    first: float,
    second: float | None,
) -> None:
    """Both fail, or one fails and one hangs: UNAVAILABLE, in time."""
    hanging: Callable[..., Any] = lambda *_, **__: release.wait(20) and None  # noqa: E731 - one line of a table
    monkeypatch.setattr(DenseChannel, "search", failing(first))
    monkeypatch.setattr(LexicalChannel, "search", hanging if second is None else failing(second))
    began = time.monotonic()
    with pytest.raises(grpc.RpcError) as caught:
        service.recall(QUESTION, never_skip=True)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "no channel answered" in caught.value.details()
    assert time.monotonic() - began < 5


def test_the_list_of_exact_phrases_alone_is_no_answer(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """That list holds no candidates: when both channels fail, the recall fails."""
    monkeypatch.setattr(DenseChannel, "search", failing(EARLY))
    monkeypatch.setattr(LexicalChannel, "search", failing(EARLY))
    with pytest.raises(grpc.RpcError) as caught:
        service.recall(f'"{TEXT}"', never_skip=True)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
