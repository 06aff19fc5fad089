"""What compose.yaml sets of each service and of NATS."""

import importlib
import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helix_consolidation.forwarder.settings import ForwarderSettings
from helix_shared.broker import server

from .compose_file import CONSUMERS, GRPC, ROOT, SERVICES, default, mounts

NATS_CONF = ROOT / "ops/nats.conf"


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


@pytest.mark.parametrize("name", GRPC)
def test_a_service_that_answers_calls_has_no_address_of_a_broker(name: str) -> None:
    """Its environment has no NATS address."""
    assert not [key for key in SERVICES[name]["environment"] if "NATS" in key]
    assert "nats" not in SERVICES[name]["depends_on"]


def test_deep_sees_memories_through_the_query_service_alone() -> None:
    """It mounts nothing; without an address of a model it sends nothing."""
    assert mounts("deep") == {}
    environment = SERVICES["deep"]["environment"]
    port = SERVICES["query"]["environment"]["HELIX_QUERY_LISTEN"].rsplit(":", 1)[1]
    assert environment["HELIX_DEEP_QUERY_ADDRESS"] == f"query:{port}"
    for name in ("BASE_URL", "TENANTS", "API_KEY"):
        assert default(f"HELIX_DEEP_{name}", environment[f"HELIX_DEEP_{name}"]) == ""


def test_the_gateway_sees_memories_through_the_query_service_alone() -> None:
    """It mounts nothing, and its addresses are those of the other services."""
    assert mounts("gateway") == {}
    environment = SERVICES["gateway"]["environment"]
    port = SERVICES["query"]["environment"]["HELIX_QUERY_LISTEN"].rsplit(":", 1)[1]
    assert environment["HELIX_GATEWAY_QUERY_ADDRESS"] == f"query:{port}"
    assert environment["HELIX_GATEWAY_NATS_URL"] == SERVICES["ingest"]["environment"]["HELIX_INGEST_NATS_URL"]


@pytest.mark.parametrize("name", CONSUMERS)
def test_every_variable_is_a_setting_of_its_service_and_within_bounds(name: str) -> None:
    """A service would refuse an unknown variable with its prefix at the start."""
    settings = _settings_of(name)
    assert settings is not None, f"helix_{name}.settings is missing"
    environment = SERVICES[name]["environment"]
    prefix = f"HELIX_{name.upper()}_"
    assert all(key.startswith(prefix) for key in environment)
    given = {key.removeprefix(prefix).lower(): default(key, value) for key, value in environment.items()}
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
        assert default(f"HELIX_EXTRACT_{name}", environment[f"HELIX_EXTRACT_{name}"]) == ""


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
    assert f'store_dir: "{mounts("nats")["nats"]["target"]}"' in NATS_CONF.read_text()
    assert mounts("nats")["./ops/nats.conf"]["target"] == SERVICES["nats"]["command"][1]


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
