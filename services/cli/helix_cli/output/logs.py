"""Logs of the libraries that a command uses: hidden, or on standard error with `--verbose`.

structlog is imported when a line is logged, because it is slow to import; with `--verbose` at once, for the
lines of libraries.
"""

from __future__ import annotations

from contextvars import ContextVar

_is_verbose: ContextVar[bool | None] = ContextVar("is_verbose", default=None)


def set_log_level(*, verbose: bool) -> None:
    """Set the level for the command that runs: INFO, or CRITICAL, which hides everything else."""
    _is_verbose.set(verbose)


def configure_logs() -> None:
    """Apply the level; does nothing where no `helix` command runs, as in the lab."""
    is_verbose = _is_verbose.get()
    if is_verbose is None:
        return
    from helix_shared.telemetry.logs import configure_logging, configure_logging_later  # noqa: PLC0415  as above

    if is_verbose:
        configure_logging(log_format="console", level="INFO", service="cli")
    else:
        configure_logging_later(log_format="console", level="CRITICAL", service="cli")
