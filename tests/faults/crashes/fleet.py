"""An instance on more than one machine, all its processes on this one: writers, workers and replicas.

The writers have a cluster of NATS and an S3 server between them and the replicas, which share no folder with
them: each replica pulls the generations of all shards into a folder of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from helix_cli.home.folder import HomeFolder
from helix_cli.stack.ports import StackPorts
from helix_cli.stack.readiness import missing
from helix_cli.stack.secured import Secured
from helix_cli.stack.service_child import service_child
from helix_cli.stack.services import CONSOLIDATION, INGEST, QUERY, QUERY_SHARDS, SERVICES
from helix_cli.stack.supervisor import Say, Supervisor, drain
from helix_memory.transport.polling import poll
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.broker import streams
from helix_shared.broker.server import NatsServer, free_port
from tests.s3_server import BUCKET, s3_environment

from .comparing import READY_SECONDS, SHORT_WAITS, set_ack_wait

SHARDS: Final = 4
REPLICAS: Final = 2
COPIES: Final = {INGEST: 2, "doc2query": 1, "kg": 1, CONSOLIDATION: SHARDS, QUERY: REPLICAS}
BUCKET_ADDRESS: Final = f"s3://{BUCKET}/fleet"
SETTINGS: Final = SHORT_WAITS | {
    "HELIX_CONSOLIDATION_BUCKET": BUCKET_ADDRESS,
    # the server keeps objects in memory, and one process answers for all four writers
    "HELIX_CONSOLIDATION_PUBLISH_INTERVAL_SECONDS": "3",
    "HELIX_CONSOLIDATION_BUCKET_GRACE_SECONDS": "120",
    "HELIX_CONSOLIDATION_BUCKET_COLLECT_SECONDS": "20",
    "HELIX_QUERY_BUCKET": BUCKET_ADDRESS,
    # each has a machine of its own, and stands back behind nobody
    **{f"HELIX_{role.upper()}_NICENESS": "0" for role in (INGEST, "doc2query", "kg", CONSOLIDATION)},
    QUERY_SHARDS: ",".join(map(str, range(SHARDS))),
}


class Fleet:
    """The processes beside NATS and the S3 server, which run already; a context manager."""

    def __init__(
        self,
        home: Path,
        models: Path,
        servers: Sequence[NatsServer],
        objects: str,
        *,
        environment: Mapping[str, str] | None = None,
        say: Say = lambda _: None,
    ) -> None:
        """`objects` is the address of the S3 server; `environment` is added to that of every process."""
        self.home = HomeFolder.at(home)
        self.nats_url = ",".join(server.url for server in servers)
        ports = StackPorts(nats=servers[0].port, query=tuple(free_port() for _ in range(REPLICAS)))
        self.replicas = ports.query_addresses
        """The addresses of the replicas, each with all shards."""
        self._say = say
        self._supervisor = Supervisor(say=say, changed=lambda: None)
        secured = Secured(self.home, say=say)
        settings = SETTINGS | s3_environment(objects) | dict(environment or {})
        self.processes = [
            service_child(
                service,
                number,
                home=self.home,
                models=models,
                ports=ports,
                metrics={},
                instance="",
                copies=COPIES[service.name],
                environment=settings | self._own(service.name, number),
                secured=secured,
            )
            for service in SERVICES
            for number in range(1, COPIES.get(service.name, 0) + 1)
        ]

    def _own(self, role: str, number: int) -> dict[str, str]:
        if role != QUERY:
            return {f"HELIX_{role.upper()}_NATS_URL": self.nats_url}
        folder = self.replica(number - 1)
        cache = folder.with_name(f"{folder.name}-cache")
        return {"HELIX_QUERY_DATA_DIR": str(folder), "HELIX_QUERY_CACHE_DIR": str(cache)}

    def replica(self, index: int) -> Path:
        """The data folder of a replica."""
        return self.home.root / f"replica-{index}"

    @property
    def query_address(self) -> str:
        """What a client is given: the replicas of the one process that has all shards."""
        return "|".join(self.replicas)

    def start(self) -> Self:
        """Start the processes, and wait until everything is read, written and served."""
        asyncio.run(set_ack_wait(self.nats_url))
        for shard in range(SHARDS):
            self.home.data_of(shard).mkdir(parents=True)
        try:
            for child in self.processes:
                child.start()
            self._supervisor.watch(self.processes)
            reason = "nothing was asked"
            for _ in poll(READY_SECONDS, every_seconds=0.5):
                reason = self.missing()
                if not reason:
                    break
            assert not reason, reason
        except BaseException:
            self.stop()
            raise
        return self

    def missing(self) -> str:
        """What is not ready; empty: everything is."""
        return missing(
            queries=[(address, range(SHARDS)) for address in self.replicas],
            nats_url=self.nats_url,
            data_of=self.home.data_of,
            consumers=streams.consumers_of(SHARDS),
        )

    def stop(self) -> None:
        """Drain the workers, then the replicas."""
        self._supervisor.release()
        for group in (
            [child for child in self.processes if not child.name.startswith(QUERY)],
            [child for child in self.processes if child.name.startswith(QUERY)],
        ):
            drain(group, hurry=threading.Event(), say=self._say)

    def kill(self, role: str, index: int) -> int:
        """SIGKILL a process, which is then started again."""
        child = [one for one in self.processes if one.name.partition("-")[0] == role][index]
        pid = child.pid
        child.kill()
        return pid

    @property
    def applied(self) -> int:
        """Every event up to this sequence is in a generation of the writer of its shard."""
        return min(self._applied(self.home.data_of(shard)) for shard in range(SHARDS))

    def _applied(self, data: Path) -> int:
        number = current_number(data)
        return 0 if number is None else Manifest.read(folder_of(data, number)).applied_sequence

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
