"""A process of a stack with its settings: where it finds the others, its files and its secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from helix_cli.stack.children import ServiceChild, child_environment
from helix_cli.stack.services import OF_A_SHARD, QUERY, Service, remove_secrets_of_others, service_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from helix_cli.home.folder import HomeFolder
    from helix_cli.stack.children import Child
    from helix_cli.stack.ports import StackPorts
    from helix_cli.stack.secured import Secured


def service_child(
    service: Service,
    number: int,
    *,
    home: HomeFolder,
    models: Path,
    ports: StackPorts,
    metrics: Mapping[str, int],
    instance: str,
    copies: int,
    environment: Mapping[str, str],
    secured: Secured,
) -> ServiceChild:
    """The process `number`, from 1, of a service, not started.

    `metrics` are the wanted ports of metrics by process; `environment` wins over what a stack sets itself.
    """
    name = f"{service.name}-{number}"
    shard = number - 1 if service.name in OF_A_SHARD else 0
    queries = ports.query_addresses
    own = service_settings(
        service.name,
        nats_url=ports.nats_url,
        data=home.data_of(shard),
        models=models,
        query_address=queries[shard] if service.name == QUERY else ",".join(queries),
        access_address=f"127.0.0.1:{ports.access[shard]}" if shard < len(ports.access) else "",
        shard=shard,
        deep_address=ports.deep_address,
        gateway_address=f"127.0.0.1:{ports.gateway}",
        instance=instance,
        copies=copies,
    )
    variable, port = f"HELIX_{service.name.upper()}_METRICS_PORT", metrics.get(name)
    given = secured.settings(service.name, child_environment(environment))
    whole = child_environment(
        own
        | {"HELIX_HOME": str(home.root)}
        | given
        | dict(environment)
        | ({variable: str(port)} if port else {})
    )
    remove_secrets_of_others(service.name, whole)
    return ServiceChild(
        name,
        service.module,
        environment=whole,
        log=home.logs / f"{name}.log",
        port_variable=variable,
        reserved=ports.every,
    )


def unused_variables(children: Iterable[Child]) -> list[str]:
    """Variables of the shell for a service that have another value in its process: a stack sets them itself.

    A port of metrics is used: each further copy has the next one.
    """
    found = set[str]()
    for child in children:
        if isinstance(child, ServiceChild):
            prefix = f"HELIX_{child.name.partition('-')[0].upper()}_"
            given = {name: value for name, value in os.environ.items() if name.startswith(prefix)}
            found |= {name for name, value in given.items() if child.environment.get(name) != value}
    return sorted(name for name in found if not name.endswith("_METRICS_PORT"))
