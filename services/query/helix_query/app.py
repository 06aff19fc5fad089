"""The composition root of the query service; the only module that reads the environment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from helix_query.accesses.ring import AccessRing
from helix_query.accesses.server import AccessServer
from helix_query.api.service import SERVICE_NAME, RecallHandlers
from helix_query.generations.current import SERVICE, CurrentGeneration
from helix_query.generations.installed_model import InstalledEncoders
from helix_query.generations.link_folder import link_folder
from helix_query.generations.prober import Prober
from helix_query.generations.shards.opening import open_shards
from helix_query.generations.verified_files import verified_files_path
from helix_query.profile.cross_encoders import load_cross_encoders
from helix_query.profile.files import load_profiles
from helix_query.profile.profile import DEFAULT_PROFILE, RankingProfile
from helix_query.settings import QuerySettings
from helix_shared.encoders.cross_encoder import CrossEncoder
from helix_shared.machine.processes import allow_open_files
from helix_shared.rpc.access.admission import Admission
from helix_shared.rpc.access.listening import require_protection
from helix_shared.rpc.server import GrpcServer, stop_signals
from helix_shared.telemetry.health import STARTING, Health, beat
from helix_shared.telemetry.logs import configure_logging, logger
from helix_shared.telemetry.metrics import serve_metrics
from helix_shared.telemetry.tracing.setup import configure_tracing

_log = logger(__name__)


FAILURE_EXIT: Final = 1


@dataclass(frozen=True, slots=True)
class ExitState:
    """How the service ended: exit code, and number of stuck threads."""

    code: int
    stuck: int


@dataclass(frozen=True, slots=True)
class App:
    """Settings, profiles and the models they name, of a service that is ready to run."""

    settings: QuerySettings
    profiles: Mapping[str, RankingProfile]
    cross_encoders: Mapping[str, CrossEncoder]
    health: Health
    admission: Admission

    async def run(self) -> ExitState:
        """Serve until SIGTERM or SIGINT, or until too many threads are stuck."""
        allow_open_files()
        with link_folder() as scratch:
            return await self._serve(scratch)

    async def _serve(self, scratch: Path) -> ExitState:
        prober = Prober() if self.settings.probe_generations else None
        if prober is not None:
            # it imports the engines while the service loads its models
            prober.start()
        encoders = InstalledEncoders(self.settings.models_dir, threads=self.settings.encoder_threads)
        current_of = partial(self._current, encoders, scratch, prober)
        shards = open_shards(self.settings, current_of, cross_encoders=self.cross_encoders)
        kept = (
            (self.settings.access_ring, self.settings.audit_ring) if self.settings.access_listen else (0, 0)
        )
        ring = AccessRing(*kept)
        handlers = RecallHandlers(shards, self.profiles, self.settings, ring, self.admission)
        server = GrpcServer(
            handlers.generic_handler(),
            service=SERVICE_NAME,
            listen=self.settings.listen,
            grace_seconds=self.settings.grace_seconds,
            access=self.settings,
        )
        access_server = AccessServer(ring, self.settings, self.admission) if ring.is_on else None
        stopped, loop = stop_signals(), asyncio.get_running_loop()
        beating = asyncio.create_task(beat(self.health))
        failed = asyncio.Event()

        def fail() -> None:
            failed.set()
            stopped.set()

        handlers.on_too_many_stuck(partial(_soon, loop, fail))
        port = await server.start()
        if access_server is not None:
            await access_server.start()
        _log.info("listening", address=self.settings.listen, port=port)
        shards.start(lambda: self._set_serving(server))
        try:
            await stopped.wait()
        finally:
            self.health.stop()
            _log.info("stopping")
            await server.stop()
            if access_server is not None:
                await access_server.stop()
            await asyncio.to_thread(handlers.close)
            if prober is not None:
                # a generation that is being loaded would wait for it
                prober.close()
            await asyncio.to_thread(shards.close)
            beating.cancel()
        return ExitState(FAILURE_EXIT if failed.is_set() else 0, stuck=handlers.stuck)

    def _current(
        self,
        encoders: InstalledEncoders,
        scratch: Path,
        prober: Prober | None,
        root: Path,
        shard: int | None,
    ) -> CurrentGeneration:
        """What holds the generation of a data folder; `shard`: the one that it has to be of."""
        trusted = self.settings.trust_verified_files
        return CurrentGeneration(
            root,
            encoders,
            scratch=scratch,
            profile=self.profiles[DEFAULT_PROFILE],
            poll_seconds=self.settings.poll_seconds,
            verified_files=verified_files_path(self.settings.cache_dir, root) if trusted else None,
            cache=self.settings.cache_dir,
            cross_encoders=self.cross_encoders,
            prober=prober,
            shard=shard,
        )

    def _set_serving(self, server: GrpcServer) -> None:
        server.set_serving()
        self.health.set_problem(STARTING, "")


def create_app() -> App:
    """Read settings, credentials and ranking profiles, and load the cross-encoders that profiles name.

    Raises:
        InvalidInputError: a setting or a profile is wrong, or names a model that is not installed; or other
            machines would reach an address without authentication.
    """
    settings = QuerySettings.load()
    require_protection(settings.listen, settings, setting="HELIX_QUERY_LISTEN")
    if settings.access_listen:
        require_protection(settings.access_listen, settings, setting="HELIX_QUERY_ACCESS_LISTEN")
    profiles = load_profiles(settings.profiles_dir)
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    configure_tracing(SERVICE)
    admission = Admission(settings)
    cross_encoders = load_cross_encoders(
        settings.models_dir, profiles, recalls=settings.threads, threads=settings.encoder_threads
    )
    health = Health()
    serve_metrics(settings.metrics_port, health, host=settings.metrics_host)
    return App(settings, profiles, cross_encoders, health, admission)


def _soon(loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    """Call `then` on the loop; from any thread."""
    loop.call_soon_threadsafe(then)
