"""The circuit breaker by a clock that the test turns."""

from __future__ import annotations

from helix_shared.endpoint.breaker import LONGEST_SECONDS, Breaker


class Clock:
    """Seconds that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def test_pauses_double_and_one_question_tries() -> None:
    """Two failures open it for 10 s; failed trials for 20 s, 40 s, and 10 minutes at most."""
    clock = Clock()
    breaker = Breaker(failures=2, seconds=10.0, clock=clock)
    for _ in range(2):
        assert breaker.enter()
        breaker.failed()
    expected = 10.0
    for _ in range(12):
        assert (breaker.state, breaker.wait_seconds) == ("open", min(expected, LONGEST_SECONDS))
        assert not breaker.enter()
        clock.now += breaker.wait_seconds
        assert breaker.state == "half-open"
        assert breaker.enter()
        assert not breaker.enter()
        breaker.failed()
        expected *= 2
    clock.now += LONGEST_SECONDS
    assert breaker.enter()
    breaker.succeeded()
    assert (breaker.state, breaker.wait_seconds) == ("closed", 0.0)


def test_single_failures_between_answers_open_nothing() -> None:
    """Only failures in a row count."""
    breaker = Breaker(failures=2, seconds=10.0, clock=Clock())
    for _ in range(5):
        assert breaker.enter()
        breaker.failed()
        assert breaker.enter()
        breaker.succeeded()
    assert breaker.state == "closed"


def test_a_trial_that_is_given_up_lets_the_next_one_try() -> None:
    """A worker that ends, or a handler past its deadline, tells nothing about the server."""
    clock = Clock()
    breaker = Breaker(failures=1, seconds=10.0, clock=clock)
    assert breaker.enter()
    breaker.failed()
    clock.now = 10.0
    assert breaker.enter()
    breaker.abandoned()
    assert breaker.enter()


def test_a_pause_is_bounded() -> None:
    """A server may not silence the worker for a day."""
    breaker = Breaker(failures=1, seconds=10.0, clock=Clock())
    breaker.pause(86_400.0)
    assert breaker.wait_seconds == LONGEST_SECONDS
