import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix_consolidation.forwarder.settings import ForwarderSettings
from helix_shared.broker import server

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CONSUMERS = ("ingest", "doc2query", "kg", "extract", "consolidation", "query", "deep")
GRPC = ("query", "deep")
ONE_SHOT = ("provision", "provision-extract", "models")
OPTIONAL = {"provision-extract", "extract", "deep"}
DURATION = re.compile(r"^(\d+(us|ms|s|m|h))+$")
NATS_CONF = ROOT / "ops/nats.conf"

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


def _mounts(name: str) -> dict[str, dict[str, Any]]:
    """Mounts of a service by their source."""
    return {mount["source"]: mount for mount in SERVICES[name].get("volumes", [])}


def _settings_of(name: str) -> type[Any] | None:
    """The settings class of a service, or None if it has none."""
    if importlib.util.find_spec(f"helix_{name}.settings") is None:
        return None
    module = importlib.import_module(f"helix_{name}.settings")
    prefix = f"HELIX_{name.upper()}_"
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    found: list[type[Any]] = [
        kind for kind in classes if getattr(kind, "model_config", {}).get("env_prefix", "").upper() == prefix
    ]
    assert len(found) == 1, f"one settings class with the prefix {prefix}"
    return found[0]


def _default(name: str, value: str) -> str:
    """The value where the shell sets none: compose replaces `${NAME:-default}`."""
    taken = re.fullmatch(r"\$\{(\w+):-(.*)\}", value)
    if taken is None:
        assert "$" not in value
        return value
    assert taken[1] == name
    return taken[2]


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
        for source, mount in _mounts(name).items():
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
        for profile in ("workers", "query", "all", "extract", "deep")
    }
    always = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert always == {"nats", "provision"}
    assert by_profile["workers"] == {"models", "ingest", "doc2query", "kg", "consolidation"}
    assert by_profile["query"] == {"models", "query"}
    assert by_profile["extract"] == {"models", "provision-extract", "extract"}
    assert by_profile["deep"] == {"models", "query", "deep"}
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
    assert len(published) == 3
    for port in published:
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)


def test_only_consolidation_may_write_generations() -> None:
    """One writer; the query service sees the same volume read-only."""
    writers = [
        name for name in SERVICES if "data" in _mounts(name) and not _mounts(name)["data"].get("read_only")
    ]
    assert writers == ["consolidation"]
    assert _mounts("query")["data"]["read_only"] is True
    assert SERVICES["consolidation"]["deploy"]["replicas"] == 1


def test_only_the_model_builder_may_write_models() -> None:
    """A service never changes the model it serves."""
    for name in SERVICES:
        if mount := _mounts(name).get("models"):
            assert mount.get("read_only", False) is (name != "models")


@pytest.mark.parametrize("name", GRPC)
def test_a_service_that_answers_calls_has_no_address_of_a_broker(name: str) -> None:
    """Its environment has no NATS address."""
    assert not [key for key in SERVICES[name]["environment"] if "NATS" in key]
    assert "nats" not in SERVICES[name]["depends_on"]


def test_deep_sees_memories_through_the_query_service_alone() -> None:
    """It mounts nothing; without an address of a model it sends nothing."""
    assert _mounts("deep") == {}
    environment = SERVICES["deep"]["environment"]
    port = SERVICES["query"]["environment"]["HELIX_QUERY_LISTEN"].rsplit(":", 1)[1]
    assert environment["HELIX_DEEP_QUERY_ADDRESS"] == f"query:{port}"
    for name in ("BASE_URL", "TENANTS", "API_KEY"):
        assert _default(f"HELIX_DEEP_{name}", environment[f"HELIX_DEEP_{name}"]) == ""


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


@pytest.mark.parametrize("name", CONSUMERS)
def test_every_variable_is_a_setting_of_its_service_and_within_bounds(name: str) -> None:
    """A service would refuse an unknown variable with its prefix at the start."""
    settings = _settings_of(name)
    assert settings is not None, f"helix_{name}.settings is missing"
    environment = SERVICES[name]["environment"]
    prefix = f"HELIX_{name.upper()}_"
    assert all(key.startswith(prefix) for key in environment)
    given = {key.removeprefix(prefix).lower(): _default(key, value) for key, value in environment.items()}
    loaded = settings.load(**given)
    assert given.keys() <= loaded.model_fields_set


@pytest.mark.parametrize("name", CONSUMERS)
def test_every_service_runs_the_module_of_its_room(name: str) -> None:
    """Image, build argument and module have the same name."""
    service = SERVICES[name]
    assert service["image"] == f"helix-{name}"
    assert service["build"]["args"] == {"SERVICE": name}
    assert service["command"] == ["-m", f"helix_{name}"]
    assert importlib.util.find_spec(f"helix_{name}.__main__") is not None


def test_extract_is_provisioned_before_it_starts_and_asks_nobody_by_default() -> None:
    """Its stream, consumer and bucket exist only where it runs; without an address it sends nothing."""
    assert SERVICES["provision-extract"]["command"][-1] == "--endpoint"
    assert SERVICES["provision-extract"]["command"][:-1] == SERVICES["provision"]["command"]
    assert "provision-extract" in SERVICES["extract"]["depends_on"]
    environment = SERVICES["extract"]["environment"]
    for name in ("BASE_URL", "TENANTS", "API_KEY"):
        assert _default(f"HELIX_EXTRACT_{name}", environment[f"HELIX_EXTRACT_{name}"]) == ""


def test_nats_conf_has_the_settings_of_helix_up() -> None:
    """Compose uses the settings of `helix up` and adds the health address."""
    wanted = server.server_config(host="0.0.0.0", port=4222, store=Path("/var/lib/helix/nats"))  # noqa: S104  text only
    assert _bare(NATS_CONF.read_text()) - _bare(wanted) == {'http: "127.0.0.1:8222"'}
    assert _bare(wanted) <= _bare(NATS_CONF.read_text())


def test_nats_server_accepts_its_configuration() -> None:
    """The real server reads the file; it does not start."""
    command = [server.server_binary(), "-t", "-c", NATS_CONF]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert checked.returncode == 0, checked.stderr


def test_nats_volume_is_where_its_configuration_stores() -> None:
    """A store outside the volume would be lost with the container."""
    assert f'store_dir: "{_mounts("nats")["nats"]["target"]}"' in NATS_CONF.read_text()
    assert _mounts("nats")["./ops/nats.conf"]["target"] == SERVICES["nats"]["command"][1]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://127.0.0.1:9/metrics", "does not answer"),
        ("grpc://127.0.0.1:9", "UNAVAILABLE"),
        ("ftp://x", "neither"),
    ],
)
def test_health_check_fails_when_no_server_answers(address: str, reason: str) -> None:
    """The check reports why it fails."""
    command = [sys.executable, "-I", ROOT / "ops/healthy.py", address]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert checked.returncode == 1
    assert reason in checked.stderr


def test_image_has_no_root_no_installer_and_only_the_lock() -> None:
    """Every package of an image is pinned by version and hash."""
    _, build, final = (ROOT / "ops/Dockerfile").read_text().split("\nFROM ")
    assert "USER 10001:10001" in final
    assert "pip" not in final
    assert "--without-pip /opt/helix" in build
    assert build.count("--require-hashes --no-deps -r") == 2
    assert "curl" not in build + final


def _bare(config: str) -> set[str]:
    """Settings of a NATS configuration without comments, blank lines and indentation."""
    lines = (line.strip() for line in config.splitlines())
    return {line for line in lines if line and not line.startswith("#")}


def test_the_forwarder_reads_where_the_query_service_listens_inside_the_network_alone() -> None:
    """Accesses name memories of all tenants, so their port is not published to the host."""
    forwarder, query = SERVICES["forwarder"], SERVICES["query"]
    assert forwarder["command"] == ["-m", "helix_consolidation.forwarder"]
    port = query["environment"]["HELIX_QUERY_ACCESS_LISTEN"].rsplit(":", 1)[1]
    assert forwarder["environment"]["HELIX_FORWARDER_ACCESS_ADDRESS"] == f"query:{port}"
    assert not [published for published in query["ports"] if published.endswith(f":{port}")]
    prefix = "HELIX_FORWARDER_"
    given = {key.removeprefix(prefix).lower(): value for key, value in forwarder["environment"].items()}
    assert given.keys() <= ForwarderSettings.load(**given).model_fields_set
