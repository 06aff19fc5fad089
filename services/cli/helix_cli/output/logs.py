"""Logs of the libraries that a command uses: hidden, or on standard error with `--verbose`.

structlog and the metrics are imported only when a command connects to NATS, because they are slow to import.
"""

from __future__ import annotations

from contextvars import ContextVar

_level: ContextVar[str | None] = ContextVar("level", default=None)


def set_log_level(*, verbose: bool) -> None:
    """Set the level for the command that runs: INFO, or CRITICAL, which hides everything else."""
    _level.set("INFO" if verbose else "CRITICAL")


def configure_logs() -> None:
    """Apply the level; does nothing where no `helix` command runs, as in the lab."""
    if level := _level.get():
        from helix_shared.telemetry.logs import configure_logging  # noqa: PLC0415  slow to import

        configure_logging(log_format="console", level=level, service="cli")
