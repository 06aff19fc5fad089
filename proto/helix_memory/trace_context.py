"""The trace that a call or a message belongs to: its W3C `traceparent`, carried without an OpenTelemetry SDK.

A program that traces itself with `opentelemetry-api` needs to do nothing: its current span goes along. Any
other program names the trace with `within`. Only `traceparent` is carried: `tracestate` and baggage hold
what a program likes, and Helix lets no such values into its streams.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

TRACEPARENT: Final = "traceparent"
"""Name of the NATS header and of the gRPC metadata (W3C Trace Context, section 3.2)."""
_FORM: Final = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_NO_VERSION: Final = "ff"
_given: ContextVar[str] = ContextVar("helix_traceparent", default="")


@contextmanager
def within(traceparent: str) -> Iterator[None]:
    """Inside, calls and messages belong to the trace that `traceparent` names; malformed: to none."""
    before = _given.set(traceparent if is_traceparent(traceparent) else "")
    try:
        yield
    finally:
        _given.reset(before)


def carried() -> dict[str, str]:
    """The header of what is sent now; empty outside of a trace. Costs a microsecond then."""
    value = _of_current_span() or _given.get()
    return {TRACEPARENT: value} if value else {}


def is_traceparent(value: str) -> bool:
    """Whether `value` has the form of a `traceparent` of version 00, or a later one without more fields."""
    return _FORM.fullmatch(value) is not None and not value.startswith(_NO_VERSION)


def _of_current_span() -> str:
    """Of the current span of OpenTelemetry, if the program has imported its API; else empty."""
    api: Any = sys.modules.get("opentelemetry.trace")
    if api is None or not hasattr(api, "get_current_span"):
        return ""
    span = api.get_current_span().get_span_context()
    if not span.is_valid:
        return ""
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"
