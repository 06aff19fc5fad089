"""The composition root of the query service; the only place that reads the environment."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from helix_query.handlers import RecallHandlers
from helix_query.profile import DEFAULT_PROFILE, RankingProfile
from helix_query.profile_files import load_profiles
from helix_query.receipt import receipt_path
from helix_query.scratch import scratch_folder
from helix_query.server import RecallServer
from helix_query.serving import SERVICE, Serving
from helix_query.settings import QuerySettings
from helix_shared.processes import allow_open_files
from helix_shared.telemetry import configure_logging, logger, serve_metrics

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    """The service, ready to run."""

    settings: QuerySettings
    profiles: Mapping[str, RankingProfile]

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        allow_open_files()
        with scratch_folder() as scratch:
            await self._serve(scratch)

    async def _serve(self, scratch: Path) -> None:
        data = self.settings.data_dir
        serving = Serving(
            data,
            self.settings.models_dir,
            scratch=scratch,
            profile=self.profiles[DEFAULT_PROFILE],
            encoder_threads=self.settings.encoder_threads,
            poll_seconds=self.settings.poll_seconds,
            receipt=receipt_path(self.settings.cache_dir, data) if self.settings.trust_receipt else None,
        )
        handlers = RecallHandlers(serving, self.profiles, self.settings)
        server = RecallServer(handlers, self.settings)
        stopped = _signals()
        port = await server.start()
        _log.info("listening", address=self.settings.listen, port=port)
        serving.start(server.set_serving)
        try:
            await stopped.wait()
        finally:
            _log.info("stopping")
            await server.stop()
            await asyncio.to_thread(handlers.close)
            await asyncio.to_thread(serving.close)


def create_app() -> App:
    """Read settings and ranking profiles.

    Raises:
        InvalidInputError: a setting or a profile is wrong.
    """
    settings = QuerySettings.load()
    profiles = load_profiles(settings.profiles_dir)
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    serve_metrics(settings.metrics_port)
    return App(settings, profiles)


def _signals() -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped
