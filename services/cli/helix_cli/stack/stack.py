"""All of Helix on one machine: NATS and every service, each as a process.

`helix up`, the demo, the lab and the tests use the same class:

    with Stack(home, nats_port=0, query_port=0, copies={"ingest": 2}) as stack:
        stack.wait_ready()
        ...  # stack.nats_url, stack.query_address, stack.processes, stack.kill("ingest", 0)

`start` locks the home, ends the processes of a killed run, builds the model if there is none, and starts
NATS, the streams and the services. `stop` drains the workers, then query, then NATS; `hurry` ends every
wait.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Self

from helix_cli.clients.broker import provision_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.leftovers import end_leftovers
from helix_cli.home.lock import locked
from helix_cli.home.record import RunRecord, remove_record, write_record
from helix_cli.stack.children import Child, ServiceChild, child_environment, metrics_addresses, processes_of
from helix_cli.stack.hold import HELD_SERVICES, Holding
from helix_cli.stack.liveness import SILENT_SECONDS, Liveness
from helix_cli.stack.model_in_use import ready_model
from helix_cli.stack.ports import StackPorts, WantedPorts, choose_ports, metrics_ports
from helix_cli.stack.readiness import missing
from helix_cli.stack.secured import Secured
from helix_cli.stack.service_child import service_child
from helix_cli.stack.services import (
    EXTRACT,
    QUERY,
    SERVICES,
    Service,
    configured_copies,
    consumers_of,
    with_shards,
)
from helix_cli.stack.settings_in_use import making_settings
from helix_cli.stack.supervisor import Say, Supervisor, drain
from helix_memory.transport.polling import poll
from helix_shared.errors import InvalidInputError, TemporaryError

NATS: Final = "nats"
READY_SECONDS: Final = 120.0
ASK_SECONDS: Final = 0.25
"""Between two questions whether everything is ready, which take processor time from the start."""


class Stack:
    """NATS and the services; a context manager."""

    def __init__(
        self,
        home: Path,
        *,
        nats_port: int | None = None,
        query_port: int | None = None,
        gateway_port: int | None = None,
        copies: Mapping[str, int] | None = None,
        shards: int | None = None,
        models: Path | None = None,
        environment: Mapping[str, str] | None = None,
        say: Say = lambda _: None,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        """Describe a stack; `start` starts it.

        A port of None is the usual one, or any if that is taken; 0 is any. `shards` of None are those of
        the home. `models` is the folder of the encoders, by default that of the home. `environment` is added
        to the environment of the services.
        A process that does not answer for `silent_seconds` is killed and started again.
        """
        self.home = HomeFolder.at(home)
        self.models = models or self.home.models
        self.model = ""
        self._wanted = WantedPorts(nats_port, query_port, gateway_port)
        self._environment = dict(environment or {})
        self._shards = shards or self.home.shards
        given = child_environment(self._environment)
        self._copies = with_shards(configured_copies(copies or {}, given), self._shards, given)
        self._say = say
        self._children: list[Child] = []
        self._hurry = threading.Event()
        self._resources = contextlib.ExitStack()
        self._supervisor = Supervisor(
            say=say,
            changed=self._write_record,
            hurry=self._hurry,
            look=self._look,
            liveness=Liveness(silent_seconds=silent_seconds),
        )
        self._holding = Holding(
            self.home,
            self._supervisor,
            children=lambda: [child for child in self._children if _role(child) in HELD_SERVICES],
            before_start=self._ready_again,
            changed=self._write_record,
            say=say,
        )
        self._ports = StackPorts()
        self._instance = ""
        self.secured = Secured(self.home, say=say)
        self._metrics: Mapping[str, int] = {}

    @property
    def nats_url(self) -> str:
        """Address of NATS."""
        return self._ports.nats_url

    @property
    def query_address(self) -> str:
        """Address of the query service; those of all shards with commas."""
        return ",".join(self._ports.query_addresses)

    @property
    def deep_address(self) -> str:
        """Address of the deep service; empty where there is none."""
        return self._ports.deep_address

    @property
    def gateway_url(self) -> str:
        """Address of the gateway; empty where there is none."""
        scheme = "https" if self.secured.is_on else "http"
        return f"{scheme}://127.0.0.1:{self._ports.gateway}" if self._ports.gateway else ""

    @property
    def processes(self) -> Sequence[Child]:
        """NATS and the processes of the services in the order of their start."""
        return tuple(self._children)

    @property
    def refusal(self) -> str:
        """The process that refused its settings, and why; empty if none did."""
        return self._supervisor.refusal

    def start(self) -> Self:
        """Start everything; `wait_ready` waits until it answers.

        Raises:
            PermanentError: the home is taken, or there is no model and none can be built.
            InvalidInputError: a port is taken.
            TemporaryError: NATS does not answer.
        """
        try:
            self._resources.enter_context(locked(self.home))
            end_leftovers(self.home, say=self._say)
            self._ready_model()
            self._instance = f"helix-{uuid.uuid4().hex}"
            self._metrics = metrics_ports(self._copies, child_environment(self._environment))
            self._ports = choose_ports(self._wanted, self._copies, reserved=self._metrics.values())
            self.secured.start()
            self._run(self.secured.nats_child(port=self._ports.nats, name=self._instance))
            self._provision()
            for service in SERVICES:
                for number in range(1, self._copies[service.name] + 1):
                    self._run(self._service_child(service, number))
            self._supervisor.watch(self._children)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Drain workers, then query, then NATS; may be called twice."""
        self._supervisor.release()
        workers = [child for child in self._children if _role(child) not in {NATS, QUERY}]
        for group in (workers, self._of(QUERY), self._of(NATS)):
            drain(group, hurry=self._hurry, say=self._say)
        if self._children:
            self._children = []
            remove_record(self.home)
        self._resources.close()

    def hurry(self) -> None:
        """Kill instead of waiting for processes to drain."""
        self._hurry.set()

    def kill(self, service: str, index: int = 0) -> int:
        """Kill one process, which is then restarted, and return its process id."""
        child = self._of(service)[index]
        pid = child.pid
        child.kill()
        return pid

    def wait_ready(self, *, timeout_seconds: float = READY_SECONDS) -> None:
        """Return when the query service answers and every worker fetches messages.

        If the home has a generation, that one or a later one must be served.

        Raises:
            InvalidInputError: a service refuses its settings.
            TemporaryError: it takes longer than `timeout_seconds`; the message names the missing part.
        """
        waiting_for = ""
        for _ in poll(timeout_seconds, every_seconds=ASK_SECONDS):
            if not (waiting_for := self._missing()):
                return
            if self.refusal:
                raise InvalidInputError("settings", self.refusal)
        raise TemporaryError(f"not ready after {timeout_seconds:g} s: {waiting_for}; logs: {self.home.logs}")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _of(self, role: str) -> list[Child]:
        return [child for child in self._children if _role(child) == role]

    def _run(self, child: Child) -> None:
        self._children.append(child)
        child.start()
        self._write_record()

    def _service_child(self, service: Service, number: int) -> ServiceChild:
        return service_child(
            service,
            number,
            home=self.home,
            models=self.models,
            ports=self._ports,
            metrics=self._metrics,
            instance=self._instance,
            copies=self._copies[service.name],
            environment=self._environment,
            secured=self.secured,
        )

    def _look(self) -> None:
        self._holding.look()
        if not self._holding.is_on:
            services = [child for child in self._children if _role(child) != NATS]
            self.secured.look(restart=partial(self._supervisor.restart, services))

    def _ready_model(self) -> None:
        card = ready_model(self.home.data, self.models, say=self._say)
        self.model = f"{card.name} ({card.dimensions} dimensions, {card.checksum[:12]})"

    def _ready_again(self) -> None:
        try:
            self._ready_model()
        finally:
            # the command may have ended between the removal of a consumer and its creation
            self._provision()

    def _provision(self) -> None:
        provision_server(
            self.nats_url,
            shards=self._shards,
            instance=self._instance,
            endpoint=bool(self._copies[EXTRACT]),
            credentials=self.secured.nats,
        )
        for shard in range(1, self._shards):
            self.home.data_of(shard).mkdir(parents=True, exist_ok=True)

    def _missing(self) -> str:
        queries, shards = self._ports.query_addresses, range(self._shards)
        return missing(
            queries=list(zip(queries, [[one] for one in shards] if queries[1:] else [shards], strict=True)),
            deep_address=self.deep_address,
            gateway_port=self._ports.gateway,
            nats_url=self.nats_url,
            nats=self.secured.nats,
            calls=self.secured.calls,
            data_of=self.home.data_of,
            consumers=consumers_of(self._copies),
        )

    def _write_record(self) -> None:
        pids, start_times = processes_of(self._children)
        record = RunRecord(
            nats_url=self.nats_url,
            query_address=self.query_address,
            instance=self._instance,
            pids=pids,
            start_times=start_times,
            deep_address=self.deep_address,
            is_held=self._holding.is_on,
            is_secured=self.secured.is_on,
            settings=making_settings(child_environment(self._environment)),
            metrics=metrics_addresses(self._children),
            gateway_url=self.gateway_url,
        )
        write_record(self.home, record)


def _role(child: Child) -> str:
    return child.name.partition("-")[0]
