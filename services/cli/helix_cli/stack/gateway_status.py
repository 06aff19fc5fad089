"""Status of the gateway of a home; being down is a status too, so no error is raised."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import running_record
from helix_cli.security.folder import SecurityFolder
from helix_cli.stack.liveness import reason_not_ready


@dataclass(frozen=True, slots=True)
class GatewayStatus:
    """Where the gateway listens; `problem` is empty when it is ready."""

    url: str
    problem: str = ""


def gateway_status(home: Path) -> GatewayStatus | None:
    """Ask the gateway of the `helix up` of a home; None where nothing runs, or it has no gateway."""
    record = running_record(HomeFolder.at(home))
    if record is None or not record.gateway_url:
        return None
    try:
        tls = None
        if record.gateway_url.startswith("https:"):
            tls = ssl.create_default_context(cafile=str(SecurityFolder.of(home).ca))
        return GatewayStatus(record.gateway_url, reason_not_ready(record.gateway_url, tls))
    except (OSError, ssl.SSLError) as error:
        return GatewayStatus(record.gateway_url, f"the CA of the home cannot be read: {error}")
