#!/usr/bin/env python3
"""Health checks of the containers: exit 0 when healthy, else 1 with one line on standard error.

    python ops/healthy.py http://127.0.0.1:9100/readyz   the address answers 200; else its first line says why
    python ops/healthy.py grpc://127.0.0.1:7461          the gRPC health service answers; with TLS where the
                                                         service has it (HELIX_..._TLS_CERT_FILE)

A worker is ready once it reads its durable consumer, until it ends (`helix_shared.telemetry.health`), and
ends itself when it can never receive again (`helix_shared.broker.worker.watch`). The query service is healthy
as soon as it listens: a fresh installation has no generation before its first event. Clients that must
know ask `GetStatus`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

if TYPE_CHECKING:
    import grpc

TIMEOUT_SECONDS = 3.0
REASON_BYTES = 1_000
# what is asked shares this container's network: no proxy that the environment names stands between
_DIRECT = build_opener(ProxyHandler({}))
_NO_PROXY = ("grpc.enable_http_proxy", 0)


def problem(address: str) -> str:
    """Why `address` is not healthy; empty when it is."""
    parts = urlsplit(address)
    if parts.scheme == "grpc":
        return _grpc_problem(parts.netloc)
    if parts.scheme != "http":
        return f"neither http nor grpc: {address}"
    try:
        with _DIRECT.open(address, timeout=TIMEOUT_SECONDS) as reply:
            return "" if reply.status == 200 else f"{address} answers {reply.status}"  # noqa: PLR2004  HTTP OK
    except HTTPError as error:
        reason = error.read(REASON_BYTES).decode(errors="replace").partition("\n")[0]
        return f"{address} answers {error.code}: {reason}"
    except (URLError, OSError) as error:
        return f"{address} does not answer: {error}"


def _grpc_problem(target: str) -> str:
    import grpc  # noqa: PLC0415  workers' images check by http and need no gRPC here
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415  in the images of gRPC services alone

    try:
        opened = _channel(target)
    except (OSError, ValueError) as error:
        return f"{target}: the certificate cannot be used: {error}"
    with opened as channel:
        try:
            stub = health_pb2_grpc.HealthStub(channel)
            reply = stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            return f"{target} does not answer: {error.code().name}"
    state = health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
    # NOT_SERVING is a live service whose first generation is still to come: nothing is wrong with it
    return "" if state in {"SERVING", "NOT_SERVING"} else f"{target} is {state}"


def _channel(target: str) -> grpc.Channel:
    """In the clear, or with the certificate of the service whose environment this process shares."""
    import grpc  # noqa: PLC0415  as above

    chain, key = _file("_TLS_CERT_FILE"), _file("_TLS_KEY_FILE")
    if chain is None or key is None:
        return grpc.insecure_channel(target, [_NO_PROXY])
    # `helix security rotate` replaces the certificate before the service restarts: its authority signed both
    authority = chain.with_name("ca.pem")
    roots = chain.read_bytes() + (authority.read_bytes() if authority.exists() else b"")
    # a service that asks callers for a certificate (mTLS) is shown its own
    own = (key.read_bytes(), chain.read_bytes()) if _file("_TLS_CLIENT_CA_FILE") else (None, None)
    credentials = grpc.ssl_channel_credentials(roots, *own)
    return grpc.secure_channel(
        target, credentials, [_NO_PROXY, ("grpc.ssl_target_name_override", _name(chain))]
    )


def _file(suffix: str) -> Path | None:
    found = [
        os.environ[name] for name in sorted(os.environ) if name.startswith("HELIX_") and name.endswith(suffix)
    ]
    return Path(found[0]) if found and found[0] else None


def _name(chain: Path) -> str:
    """A name for which the certificate is valid: that of 127.0.0.1 need not be one."""
    from cryptography import x509  # noqa: PLC0415  as above

    certificate = x509.load_pem_x509_certificates(chain.read_bytes())[0]
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound as error:
        raise ValueError(f"{chain} has no subject alternative name") from error
    found = names.get_values_for_type(x509.DNSName)
    return found[0] if found else str(names.get_values_for_type(x509.IPAddress)[0])


def main(arguments: list[str]) -> int:
    """Check the one address given."""
    if len(arguments) != 1:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    reason = problem(arguments[0])
    if reason:
        sys.stderr.write(f"{reason}\n")
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
