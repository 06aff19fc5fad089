import importlib
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from grpc_health.v1 import health, health_pb2_grpc

from helix_cli.security.certificates import new_authority, new_certificate
from helix_consolidation.forwarder.settings import ForwarderSettings
from helix_shared.broker import server

ROOT = Path(__file__).parents[2]


def _script(path: str) -> Any:
    """A script of ops as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


containers_run = _script("ops/containers_run.py")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CONSUMERS = ("ingest", "doc2query", "kg", "extract", "consolidation", "query", "deep", "gateway")
GRPC = ("query", "deep")
ONE_SHOT = ("provision", "provision-extract", "models")
OPTIONAL = {"provision-extract", "extract", "deep", "gateway"}
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


def test_the_gateway_sees_memories_through_the_query_service_alone() -> None:
    """It mounts nothing, and its addresses are those of the other services."""
    assert _mounts("gateway") == {}
    environment = SERVICES["gateway"]["environment"]
    port = SERVICES["query"]["environment"]["HELIX_QUERY_LISTEN"].rsplit(":", 1)[1]
    assert environment["HELIX_GATEWAY_QUERY_ADDRESS"] == f"query:{port}"
    assert environment["HELIX_GATEWAY_NATS_URL"] == SERVICES["ingest"]["environment"]["HELIX_INGEST_NATS_URL"]


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


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A gRPC server with TLS that asks callers for a certificate: its address and its environment."""
    folder = tmp_path_factory.mktemp("tls")
    authority = new_authority()
    certificate, key = new_certificate(authority, ["helix.example.org"])
    files = {"ca.pem": authority[0], "server.pem": certificate, "server.key": key}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    server = grpc.server(ThreadPoolExecutor(1))
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    credentials = grpc.ssl_server_credentials([(key, certificate)], authority[0], require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    settings = {"CERT": "server.pem", "KEY": "server.key", "CLIENT_CA": "ca.pem"}
    yield (
        f"grpc://127.0.0.1:{port}",
        {f"HELIX_QUERY_TLS_{name}_FILE": str(folder / file) for name, file in settings.items()},
    )
    server.stop(grace=None)


def test_health_check_uses_tls_where_the_service_has_it(secured: tuple[str, dict[str, str]]) -> None:
    """It trusts the certificate of its service, and shows it where callers need one."""
    assert _health(*secured) == ""


def test_health_check_without_the_settings_of_tls_fails(secured: tuple[str, dict[str, str]]) -> None:
    """Control: the server answers nobody in the clear."""
    assert "does not answer" in _health(secured[0], {})


def test_health_check_does_not_trust_another_certificate(
    secured: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    """Another server on the port is no healthy service."""
    certificate, key = new_certificate(new_authority(), ["helix.example.org"])
    (tmp_path / "other.pem").write_bytes(certificate)
    (tmp_path / "other.key").write_bytes(key)
    other = {"CERT": "other.pem", "KEY": "other.key"}
    environment = {f"HELIX_QUERY_TLS_{name}_FILE": str(tmp_path / file) for name, file in other.items()}
    assert "does not answer" in _health(secured[0], environment)


def _health(address: str, environment: dict[str, str]) -> str:
    """What the health check says on standard error; empty when all is well."""
    command = [sys.executable, "-I", ROOT / "ops/healthy.py", address]
    checked = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert (checked.returncode == 0) is (checked.stderr == "")
    return checked.stderr


def test_image_has_no_root_no_installer_and_only_the_lock() -> None:
    """Every package of an image is pinned by version and hash."""
    _, _, build, code, final = (ROOT / "ops/Dockerfile").read_text().split("\nFROM ")
    assert "USER 10001:10001" in final
    assert "pip" not in final
    assert "--without-pip /opt/helix" in build
    assert build.count("--require-hashes --no-deps -r") == 2
    assert "--no-deps --no-index" in code
    assert "curl" not in build + code + final
    assert "apt-get" not in final


def test_every_service_has_an_image_that_the_dockerfile_can_build() -> None:
    """`SERVICE` is a folder of services/ or a package of the lock; what is copied is not ignored."""
    lock = (ROOT / "requirements.lock").read_text()
    for name, service in SERVICES.items():
        assert service["build"]["context"] == "."
        assert (ROOT / service["build"]["dockerfile"]).is_file()
        wanted = service["build"]["args"]["SERVICE"]
        assert (ROOT / "services" / wanted).is_dir() or f"\n{wanted}==" in lock, name
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    dockerfile = (ROOT / "ops/Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, flags=re.MULTILINE):
        for source in line.split():
            assert (ROOT / source).exists()
            assert f"!{source}" in ignored


def test_packages_are_installed_before_any_code_is_copied() -> None:
    """A change of code must not install hundreds of megabytes again."""
    dockerfile = (ROOT / "ops/Dockerfile").read_text()
    packages = dockerfile.split("AS packages")[1].split("\nFROM ")[0]
    assert re.findall(r"^COPY (.+)$", packages, flags=re.MULTILINE) == [
        "--from=lists /build.txt /service.txt /",
        "ops/slim.sh /",
    ]
    final = dockerfile.rsplit("\nFROM ", 1)[1]
    assert final.index("--from=packages") < final.index("--from=code")


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_a_limit_of_memory_and_time_to_drain(name: str) -> None:
    """One service cannot take the memory of all; none is killed while it finishes its work (10 s)."""
    found = re.fullmatch(r"\$\{HELIX_MEMORY\w*:-(\d+)g\}", SERVICES[name]["mem_limit"])
    assert found is not None
    assert int(found[1]) >= 2
    assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > 15


def test_the_check_of_the_containers_reads_the_services_from_compose(tmp_path: Path) -> None:
    """It starts every service of `all` after those that it waits for, on this machine's addresses alone."""
    compose = containers_run.Compose.read("all", tmp_path)
    order = list(compose.ordered())
    assert set(order) == set(SERVICES) - OPTIONAL
    for name in order:
        options = compose.run_options(name)
        assert all(order.index(wanted) < order.index(name) for wanted in SERVICES[name].get("depends_on", {}))
        assert not [option for option in options if "0.0.0.0" in option or "$" in option]  # noqa: S104  text only
        assert "--read-only" in options
        given = {text.partition("=")[0] for text in options if text.startswith("HELIX_")}
        assert given == set(SERVICES[name].get("environment", {}))
    assert len(set(compose.ports.values())) == len(order)


@pytest.mark.parametrize("wanted", ["query", "elsewhere"])
def test_services_that_wait_for_each_other_or_for_one_that_is_not_there_end_the_check(
    wanted: str, tmp_path: Path
) -> None:
    """It does not wait for ever."""
    services = {"nats": {}, "query": {"depends_on": {wanted: {}}}}
    with pytest.raises(containers_run.Failed, match="cannot be started"):
        list(containers_run.Compose(services, tmp_path).ordered())


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
