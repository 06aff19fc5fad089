"""The form of compose.yaml, its profiles, and what a container may do."""

import re
from pathlib import Path

import pytest

from .compose_file import COMPOSE, CONSUMERS, GRPC, ONE_SHOT, OPTIONAL, ROOT, SERVICES, mounts

DURATION = re.compile(r"^(\d+(us|ms|s|m|h))+$")
# The keys of the Compose Specification that this file uses, with their types. A key that is not listed is
# misspelt, or must be looked up and added.
SERVICE_KEYS: dict[str, type | tuple[type, ...]] = {
    "build": dict,
    "cap_drop": list,
    "command": list,
    "cpu_shares": int,
    "depends_on": dict,
    "deploy": dict,
    "entrypoint": list,
    "extra_hosts": list,
    "environment": dict,
    "healthcheck": dict,
    "image": str,
    "init": bool,
    "mem_limit": str,
    "network_mode": str,
    "ports": list,
    "profiles": list,
    "read_only": bool,
    "restart": str,
    "security_opt": list,
    "stop_grace_period": str,
    "tmpfs": list,
    "user": str,
    "volumes": list,
}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}


def test_file_uses_only_keys_of_the_compose_specification() -> None:
    """Compose itself would refuse an unknown key only at the start."""
    top = {key for key in COMPOSE if not key.startswith("x-")}
    assert top == {"name", "services", "volumes"}
    for name, service in SERVICES.items():
        for key, value in service.items():
            assert key in SERVICE_KEYS, f"{name}.{key}"
            assert isinstance(value, SERVICE_KEYS[key]), f"{name}.{key}"
        assert set(service["build"]) == {"context", "dockerfile", "args"}
        assert set(service.get("healthcheck", {})) <= {
            "test",
            "interval",
            "timeout",
            "retries",
            "start_period",
        }
        assert set(service.get("deploy", {})) <= {"replicas"}
        for mount in service.get("volumes", []):
            assert set(mount) <= {"type", "source", "target", "read_only"}
            assert mount["type"] in {"bind", "volume"}


@pytest.mark.parametrize("name", SERVICES)
def test_values_have_the_form_compose_reads(name: str) -> None:
    """Durations, environment values and images are strings of the required form."""
    service = SERVICES[name]
    health = service.get("healthcheck", {})
    durations = [
        service["stop_grace_period"],
        *(health[k] for k in ("interval", "timeout", "start_period") if health),
    ]
    assert all(DURATION.match(text) for text in durations)
    assert all(isinstance(value, str) for value in service.get("environment", {}).values())
    assert service["restart"] in {"no", "unless-stopped"}
    assert re.fullmatch(r"[a-z0-9-]+", service["image"])


def test_every_dependency_and_every_volume_exists() -> None:
    """Nothing waits for a service, or mounts a volume, that the file does not declare."""
    used = set()
    for name, service in SERVICES.items():
        for wanted, how in service.get("depends_on", {}).items():
            assert how["condition"] in CONDITIONS
            assert how["condition"] != "service_healthy" or "healthcheck" in SERVICES[wanted], name
            assert how["condition"] != "service_completed_successfully" or wanted in ONE_SHOT, name
        for source, mount in mounts(name).items():
            if mount["type"] == "volume":
                used.add(source)
            else:
                assert (ROOT / source).is_file()
    assert used == set(COMPOSE["volumes"])


def test_a_profile_starts_everything_its_services_wait_for() -> None:
    """Compose refuses to start a service whose dependency is in no active profile."""
    for service in SERVICES.values():
        for profile in service.get("profiles", []):
            for wanted in service.get("depends_on", {}):
                assert profile in SERVICES[wanted].get("profiles", [profile])


def test_profiles_are_the_documented_ones() -> None:
    """`all` is everything but the optional; NATS and its provisioning run in every profile."""
    by_profile = {
        profile: {name for name, service in SERVICES.items() if profile in service.get("profiles", [])}
        for profile in ("workers", "query", "all", "extract", "deep", "gateway")
    }
    always = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert always == {"nats", "provision"}
    assert by_profile["workers"] == {"models", "ingest", "doc2query", "kg", "consolidation"}
    assert by_profile["query"] == {"models", "query"}
    assert by_profile["extract"] == {"models", "provision-extract", "extract"}
    assert by_profile["deep"] == {"models", "query", "deep"}
    assert by_profile["gateway"] == {"models", "query", "gateway"}
    assert by_profile["all"] | always | OPTIONAL == set(SERVICES)
    assert not by_profile["all"] & OPTIONAL


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_runs_as_root_or_writes_outside_its_volumes(name: str) -> None:
    """A broken service can damage only its own volume."""
    service = SERVICES[name]
    assert service["user"] == "10001:10001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "privileged" not in service


def test_ports_are_bound_to_this_machine_alone() -> None:
    """The file sets up no authentication, so all ports are bound to localhost."""
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == 4
    for port in published:
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)


def test_only_consolidation_may_write_generations() -> None:
    """One writer; the query service sees the same volume read-only."""
    writers = [
        name for name in SERVICES if "data" in mounts(name) and not mounts(name)["data"].get("read_only")
    ]
    assert writers == ["consolidation"]
    assert mounts("query")["data"]["read_only"] is True
    assert SERVICES["consolidation"]["deploy"]["replicas"] == 1


def test_only_the_model_builder_may_write_models() -> None:
    """A service never changes the model it serves."""
    for name in SERVICES:
        if mount := mounts(name).get("models"):
            assert mount.get("read_only", False) is (name != "models")


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ONE_SHOT])
def test_every_lasting_service_has_a_health_check_its_image_can_run(name: str) -> None:
    """The check is a program in the image, and its interpreter is the image's."""
    kind, interpreter, isolated, script, address = SERVICES[name]["healthcheck"]["test"]
    assert (kind, interpreter, isolated) == ("CMD", "/opt/helix/bin/python", "-I")
    dockerfile = (ROOT / "ops/Dockerfile").read_text()
    assert f"COPY ops/{Path(script).name} {Path(script).parent}/" in dockerfile
    assert (ROOT / "ops" / Path(script).name).is_file()
    assert address.startswith("grpc://127.0.0.1:" if name in GRPC else "http://127.0.0.1:")


def test_health_check_asks_the_port_the_service_listens_on() -> None:
    """If the check did not follow a changed port, healthy services would be restarted."""
    for name in CONSUMERS:
        environment = SERVICES[name]["environment"]
        port = environment.get(f"HELIX_{name.upper()}_METRICS_PORT")
        address = SERVICES[name]["healthcheck"]["test"][-1]
        if name in GRPC:
            assert address.rsplit(":", 1)[1] == SERVICES[name]["ports"][0].rsplit(":", 1)[1]
        else:
            assert address == f"http://127.0.0.1:{port}/readyz"


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_a_limit_of_memory_and_time_to_drain(name: str) -> None:
    """One service cannot take the memory of all; none is killed while it finishes its work (10 s)."""
    found = re.fullmatch(r"\$\{HELIX_MEMORY\w*:-(\d+)g\}", SERVICES[name]["mem_limit"])
    assert found is not None
    assert int(found[1]) >= 2
    assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > 15
