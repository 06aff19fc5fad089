"""What a language model does while turns arrive; each trouble ends once the worker has met it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

from .running import Helix

LATE_SECONDS: Final = 6.0
"""Later than the time limit of `running`."""


@contextlib.contextmanager
def written_in_prose(helix: Helix) -> Iterator[None]:
    """The answer stands between thoughts and talk."""
    with _written(
        helix, lambda text: f"<think>Hm {{</think>Here it is:\n```json\n{text}\n```\nAnything else?"
    ):
        yield


@contextlib.contextmanager
def cut(helix: Helix) -> Iterator[None]:
    """The answer ends behind its first statement."""
    with _written(helix, lambda text: text.partition('], "links"')[0]):
        yield


@contextlib.contextmanager
def _written(helix: Helix, write: Callable[[str], str]) -> Iterator[None]:
    honest, helix.server.write = helix.server.write, write
    answered = helix.server.answered
    try:
        yield
        helix.until(lambda: helix.server.answered > answered, "it is not asked")
    finally:
        helix.server.write = honest


@contextlib.contextmanager
def slow(helix: Helix) -> Iterator[None]:
    """The answer comes after the time limit, and the model is asked again."""
    asked, helix.server.seconds = len(helix.server.requests), LATE_SECONDS
    try:
        yield
        helix.until(lambda: len(helix.server.requests) >= asked + 2, "it is not asked again")
    finally:
        helix.server.seconds = 0.0


@contextlib.contextmanager
def busy(helix: Helix) -> Iterator[None]:
    """429, and when to come back."""
    helix.server.statuses = [(429, {"Retry-After": "1"}, "")] * 2
    yield
    helix.until(lambda: not helix.server.statuses, "it is not asked again")


@contextlib.contextmanager
def picky(helix: Helix) -> Iterator[None]:
    """400 on the temperature, from now on."""
    answered, helix.server.refuses = helix.server.answered, ("temperature",)
    try:
        yield
        helix.until(lambda: helix.server.answered > answered, "it is not asked without it")
    finally:
        helix.server.refuses = ()


@contextlib.contextmanager
def absent(helix: Helix) -> Iterator[None]:
    """Nothing listens at the address."""
    failed = _failed(helix)
    with helix.server.absent():
        yield
        helix.until(lambda: _failed(helix) > failed, "it is not missed")


def _failed(helix: Helix) -> int:
    return int(helix.endpoint_status()["counts"].get("failed", 0))
