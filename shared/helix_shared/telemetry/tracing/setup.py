"""Turns tracing on by `HELIX_OTLP_ENDPOINT` or the variables of OpenTelemetry; else it stays off.

The SDK is imported only where tracing is on. It reads the other variables itself: sampler
(`OTEL_TRACES_SAMPLER`), batches (`OTEL_BSP_*`), headers, certificates and timeouts (`OTEL_EXPORTER_OTLP_*`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from helix_shared.errors import InvalidInputError
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.tracing import spans

ENDPOINT: Final = "HELIX_OTLP_ENDPOINT"
_ENDPOINTS: Final = (ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_TIMEOUT: Final = "OTEL_EXPORTER_OTLP_TIMEOUT"
_TIMEOUT_SECONDS: Final = 3.0
"""Without that variable; the end of a process waits that long for an endpoint that is away."""
_SCOPE: Final = "helix"

_log = logger(__name__)


def configure_tracing(service: str, environ: Mapping[str, str] | None = None) -> None:
    """Send the spans of this process to the endpoint that the environment names; call it once per process.

    Raises:
        InvalidInputError: `HELIX_OTLP_ENDPOINT` is no address of http or https.
    """
    environment = os.environ if environ is None else environ
    endpoint = endpoint_of(environment)
    if not endpoint:
        return
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    name = environment.get("OTEL_SERVICE_NAME") or f"helix-{service}"
    resource = Resource.create({"service.name": name, "service.namespace": _SCOPE})
    provider = TracerProvider(resource=resource)
    seconds = None if environment.get(_TIMEOUT) else _TIMEOUT_SECONDS
    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=seconds)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    spans.use(provider.get_tracer(_SCOPE))
    _log.info("tracing", endpoint=urlsplit(endpoint).netloc.rpartition("@")[2])


def endpoint_of(environment: Mapping[str, str]) -> str:
    """Where spans go, an address of OTLP over gRPC; empty: tracing is off.

    Raises: as `configure_tracing`.
    """
    variable = next((name for name in _ENDPOINTS if environment.get(name, "").strip()), "")
    is_refused = environment.get("OTEL_TRACES_EXPORTER", "otlp").strip() not in ("otlp", "")
    if not variable or is_refused or environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ""
    protocol = next((environment[name] for name in _PROTOCOLS if environment.get(name)), "grpc")
    if protocol != "grpc" and variable != ENDPOINT:
        # the variables may be meant for other programs of the machine
        _log.warning("no traces: Helix sends OTLP over gRPC alone", protocol=protocol, set_instead=ENDPOINT)
        return ""
    value = environment[variable].strip()
    if not _is_address(value):
        raise InvalidInputError(variable, "must be http://host:port, or https:// for TLS")
    return value


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
