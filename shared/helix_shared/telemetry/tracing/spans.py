"""Starts and ends spans; does nothing, in a fraction of a microsecond, while tracing is off.

A span never carries the message of an error, since that may quote a text: it has the class alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from helix_memory.trace_context import TRACEPARENT, is_traceparent
from helix_shared.telemetry.tracing import attributes
from helix_shared.telemetry.tracing.attributes import ERROR, Value

SERVER: Final = "SERVER"
CONSUMER: Final = "CONSUMER"
PRODUCER: Final = "PRODUCER"
INTERNAL: Final = "INTERNAL"

_tracer: Any = None


@dataclass(frozen=True, slots=True)
class Span:
    """A span that runs; without `made` tracing is off."""

    made: Any = None

    def set(self, values: Mapping[str, Value]) -> None:
        """Add attributes.

        Raises:
            ValueError: a name is not in `attributes.ALLOWED`.
        """
        if self.made is not None:
            self.made.set_attributes(attributes.checked(values))

    def fail(self, error_type: str) -> None:
        """Mark it as failed; `error_type` is a class or a status. The first one stays."""
        if self.made is not None and ERROR not in (getattr(self.made, "attributes", None) or {}):
            from opentelemetry.trace import StatusCode  # noqa: PLC0415  imported by now

            self.made.set_status(StatusCode.ERROR)
            self.set({ERROR: error_type})


_OFF: Final = Span()


def use(tracer: Any) -> None:
    """Make spans with `tracer` from now on; None turns tracing off."""
    global _tracer  # noqa: PLW0603  one a process, as in the SDK
    _tracer = tracer


def is_on() -> bool:
    """Whether this process makes spans."""
    return _tracer is not None


def here() -> Any:
    """The context to hand to another thread, as `parent`; None while tracing is off."""
    if _tracer is None:
        return None
    from opentelemetry.context import get_current  # noqa: PLC0415  imported by now

    return get_current()


def of_traceparent(traceparent: str) -> Any:
    """The context of a trace that another process began; None while tracing is off."""
    if _tracer is None:
        return None
    from opentelemetry.context import Context  # noqa: PLC0415  imported by now
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
        TraceContextTextMapPropagator,
    )

    carrier = {TRACEPARENT: traceparent} if is_traceparent(traceparent) else {}
    return TraceContextTextMapPropagator().extract(carrier, Context())


@contextmanager
def span(
    name: str,
    kind: str,
    values: Mapping[str, Value] | None = None,
    *,
    parent: Any = None,
    is_failure: Callable[[BaseException], bool] = lambda _: True,
) -> Iterator[Span]:
    """A span that is the current one inside; an error that leaves it marks it as failed if `is_failure`."""
    if _tracer is None:
        yield _OFF
        return
    from opentelemetry.trace import SpanKind  # noqa: PLC0415  imported by now

    with _tracer.start_as_current_span(
        name,
        context=parent,
        kind=SpanKind[kind],
        attributes=attributes.checked(values or {}),
        record_exception=False,
        set_status_on_exception=False,
    ) as made:
        running = Span(made)
        try:
            yield running
        except BaseException as error:
            if is_failure(error):
                running.fail(type(error).__name__)
            raise


def record(
    name: str, kind: str, began_ns: int, ended_ns: int, values: Mapping[str, Value], *, parent: Any
) -> None:
    """A span that is over, between two moments of `time.time_ns`; none outside of a trace."""
    if _tracer is None:
        return
    from opentelemetry.trace import SpanKind, get_current_span  # noqa: PLC0415  imported by now

    if not get_current_span(parent).get_span_context().is_valid:
        return
    made = _tracer.start_span(
        name,
        context=parent,
        kind=SpanKind[kind],
        attributes=attributes.checked(values),
        start_time=began_ns,
    )
    made.end(max(began_ns, ended_ns))
