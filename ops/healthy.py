#!/usr/bin/env python3
"""Health checks of the containers: exit 0 when healthy, else 1 with one line on standard error.

    python ops/healthy.py http://127.0.0.1:9100/readyz   the address answers 200; else its first line says why
    python ops/healthy.py grpc://127.0.0.1:7461          the gRPC health service answers

A worker is ready once it reads its durable consumer, until it ends (`helix_shared.health`), and ends itself
when it can never receive again (`helix_shared.broker.worker.watch`). The query service is healthy as soon as
it listens: a fresh installation has no generation before its first event. Clients that must know ask
`GetStatus`.
"""

from __future__ import annotations

import sys
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

TIMEOUT_SECONDS = 3.0
REASON_BYTES = 1_000


def problem(address: str) -> str:
    """Why `address` is not healthy; empty when it is."""
    parts = urlsplit(address)
    if parts.scheme == "grpc":
        return _grpc_problem(parts.netloc)
    if parts.scheme != "http":
        return f"neither http nor grpc: {address}"
    try:
        with urlopen(address, timeout=TIMEOUT_SECONDS) as reply:  # noqa: S310  http alone passes the check above
            return "" if reply.status == 200 else f"{address} answers {reply.status}"  # noqa: PLR2004  HTTP OK
    except HTTPError as error:
        reason = error.read(REASON_BYTES).decode(errors="replace").partition("\n")[0]
        return f"{address} answers {error.code}: {reason}"
    except (URLError, OSError) as error:
        return f"{address} does not answer: {error}"


def _grpc_problem(target: str) -> str:
    import grpc  # noqa: PLC0415  workers' images check by http and need no gRPC here
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415  in the images of gRPC services alone

    with grpc.insecure_channel(target) as channel:
        try:
            stub = health_pb2_grpc.HealthStub(channel)
            reply = stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            return f"{target} does not answer: {error.code().name}"
    state = health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
    # NOT_SERVING is a live service whose first generation is still to come: nothing is wrong with it
    return "" if state in {"SERVING", "NOT_SERVING"} else f"{target} is {state}"


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
