"""Logs: structured lines on standard error. `metrics` has the Prometheus metrics.

Ids, sequences and sizes are logged; event bodies, texts and queries never are. An error of an unknown class
comes without its message. structlog is imported by the
first line that is logged: a command of the CLI that logs nothing does not pay for it.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    import structlog

MOST_CAUSES: Final = 8
_IN_CALLBACK: Final = "Exception in callback "
_at_first_line: list[Callable[[], None]] = []
"""What configures the logs when the first line is logged; empty: they are configured, or need not be."""


def configure_logging_later(*, log_format: str, level: str, service: str) -> None:
    """As `configure_logging`, as soon as a line of Helix is logged; lines of libraries need no structlog."""
    logging.basicConfig(level=level, force=True)
    _at_first_line[:] = [partial(configure_logging, log_format=log_format, level=level, service=service)]


def configure_logging(*, log_format: str, level: str, service: str) -> None:
    """Send every log line of the process through structlog; call it once per process."""
    import structlog  # noqa: PLC0415  slow to import

    _at_first_line.clear()
    renderer: Any = (
        structlog.processors.JSONRenderer() if log_format == "json" else structlog.dev.ConsoleRenderer()
    )
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(_without_messages),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.getLogger("asyncio").addFilter(_without_values)
    threading.excepthook = _log_of_thread
    structlog.contextvars.bind_contextvars(service=service)


def _without_messages(exc_info: Any) -> str:
    """Where an error came from, and the classes of it and its causes; messages may quote a text."""
    error: BaseException | None = exc_info[1]
    parts: list[str] = []
    while error is not None and len(parts) < MOST_CAUSES:
        parts.append("".join(traceback.format_tb(error.__traceback__)) + type(error).__qualname__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(parts)


def _without_values(record: logging.LogRecord) -> bool:
    """Leave what asyncio says of an error that nobody awaits, without errors and arguments that it quotes."""
    said, _, quoted = record.getMessage().partition("\n")
    if quoted:
        if said.startswith(_IN_CALLBACK):
            said = said.partition("(")[0]
        record.msg, record.args = said, ()
    return True


def _log_of_thread(ended: threading.ExceptHookArgs) -> None:
    """Log an error that ends a thread, as any other; Python would print its message."""
    if ended.exc_value is not None and ended.exc_type is not SystemExit:
        error = (ended.exc_type, ended.exc_value, ended.exc_traceback)
        logging.getLogger("threading").error("exception in a thread", exc_info=error)


class _LazyLogger:
    """A logger that is made at the first access to one of its methods."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        import structlog  # noqa: PLC0415  slow to import

        for configure in tuple(_at_first_line):
            configure()
        bound = structlog.get_logger(self._name)
        return getattr(bound, attribute)


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """The logger of a module."""
    return cast("structlog.stdlib.BoundLogger", _LazyLogger(name))
