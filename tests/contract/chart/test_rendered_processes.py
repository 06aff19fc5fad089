"""What pods run: settings, ports, images, rights, probes, secrets."""

import functools
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix_shared.settings import ServiceSettings

from .chart_files import NEEDS_HELM, ROOT, VALUES, containers, environment, objects, pods

pytestmark = NEEDS_HELM
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
# of model.Dockerfile
OWN_IMAGES = {"model"}
TRACING = re.compile(r"(HELIX_OTLP_ENDPOINT|OTEL_\w+)\Z")
NO_SERVICE = {"nats", "provision"}


@functools.cache
def settings_of(module: str) -> type[ServiceSettings]:
    """The settings class of what `python -m module` starts."""
    found = vars(importlib.import_module(f"{module}.settings")).values()
    own = [
        one
        for one in found
        if isinstance(one, type) and issubclass(one, ServiceSettings) and one.__module__.startswith(module)
    ]
    assert len(own) == 1
    return own[0]


def services(name: str) -> list[tuple[str, dict[str, Any], type[ServiceSettings]]]:
    """Containers with a service, and its settings."""
    return [
        (owner, one, settings_of(one["args"][1]))
        for owner, one in containers(name)
        if one["name"] not in NO_SERVICE
    ]


@pytest.mark.parametrize("name", VALUES)
def test_every_variable_is_a_setting_of_its_service_and_within_bounds(name: str) -> None:
    """A service refuses an unknown variable with its prefix, and a value out of bounds, at its start."""
    for owner, container, settings in services(name):
        prefix = str(settings.model_config["env_prefix"])
        given = {key: value for key, value in environment(container).items() if not TRACING.match(key)}
        assert given, owner
        assert all(key.startswith(prefix) for key in given), owner
        loaded = settings.load(**{key.removeprefix(prefix).lower(): value for key, value in given.items()})
        assert {key.removeprefix(prefix).lower() for key in given} <= loaded.model_fields_set, owner


def test_a_number_of_the_values_keeps_its_digits() -> None:
    """Helm reads numbers as floats."""
    (writer,) = [one for _, one in containers("least") if one["name"] == "consolidation"]
    given = environment(writer)
    assert given["HELIX_CONSOLIDATION_ARCHIVE_SEGMENT_BYTES"] == "67108864"
    assert given["HELIX_CONSOLIDATION_APPLY_INTERVAL_SECONDS"] == "0.5"


def test_an_unknown_setting_would_be_found() -> None:
    """The control of the test above."""
    with pytest.raises(Exception, match="HELIX_KG_LANES"):
        settings_of("helix_kg").load(lanes="2")


@pytest.mark.parametrize("name", VALUES)
def test_every_port_of_a_container_is_one_that_its_process_listens_on(name: str) -> None:
    """And every address that is meant for other pods has a port."""
    for owner, container, settings in services(name):
        given, prefix = environment(container), str(settings.model_config["env_prefix"])
        listening = {int(given[f"{prefix}METRICS_PORT"])}
        assert given[f"{prefix}METRICS_HOST"] == "0.0.0.0"  # noqa: S104  text only
        for key in ("LISTEN", "ACCESS_LISTEN"):
            host, _, port = given.get(prefix + key, "").rpartition(":")
            listening |= {int(port)} if host == "0.0.0.0" else set()  # noqa: S104  text only
        assert {one["containerPort"] for one in container["ports"]} == listening, owner


@pytest.mark.parametrize("name", VALUES)
def test_every_named_port_is_one_of_the_pods_that_are_meant(name: str) -> None:
    """Ports of Services, probes and addresses of other services."""
    ports = {
        owner: {
            port["name"]: port["containerPort"]
            for one in pod["spec"]["containers"]
            for port in one.get("ports", [])
        }
        for owner, pod in pods(name)
    }
    labels = {owner: pod["metadata"]["labels"].items() for owner, pod in pods(name)}
    for service in objects(name, "Service"):
        chosen = [owner for owner in labels if service["spec"]["selector"].items() <= labels[owner]]
        assert chosen, service["metadata"]["name"]
        for port in service["spec"]["ports"]:
            found = {
                ports[owner][port["targetPort"]] for owner in chosen if port["targetPort"] in ports[owner]
            }
            is_left_out = port["name"] == "metrics-fwd" and name == "least"
            assert found == (set() if is_left_out else {port["port"]})
    for owner, container in containers(name):
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if probe in container:
                assert container[probe]["httpGet"]["port"] in {one["name"] for one in container["ports"]}, (
                    owner
                )
        for key, value in environment(container).items():
            for address in value.split(","):
                match = re.fullmatch(r"(?:nats://)?(memory-[\w-]+):(\d+)", address)
                if match and key.endswith(("_ADDRESS", "_URL")):
                    assert int(match[2]) in ports[match[1]].values(), key


@pytest.mark.parametrize("name", VALUES)
def test_every_image_is_one_that_the_dockerfiles_build(name: str) -> None:
    """Those of compose.yaml, and the one with the model; a module stands in the image of its service."""
    built = {one["image"].removeprefix("helix-") for one in COMPOSE.values()} - {"models"} | OWN_IMAGES
    for _, pod in pods(name):
        for container in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]:
            prefix, _, image = container["image"].rpartition("helix-")
            image, _, version = image.partition(":")
            assert image in built
            assert (prefix, version) == (
                ("registry.example/team/", "9.9.9") if name == "all_on" else ("", "0.1.0")
            )
            if container.get("args", [""])[0] == "-m":
                assert container["args"][1].split(".")[0] == f"helix_{image}"


@pytest.mark.parametrize("name", VALUES)
def test_no_container_has_a_right_that_it_does_not_need(name: str) -> None:
    """No root, no privilege, nothing of the cluster, a root file system that cannot be written."""
    for owner, pod in pods(name):
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        # a Service helix-query would give HELIX_QUERY_PORT to every pod, and an unknown setting stops a start
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == 10001
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "privileged": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, owner
            assert set(container["resources"]) == {"requests", "limits"}
            assert "memory" in container["resources"]["limits"]
            mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
            claims = {one["name"] for one in spec.get("volumes", [])} | {"data"}
            assert mounted <= claims, owner


@pytest.mark.parametrize("name", VALUES)
def test_no_probe_restarts_a_process_for_a_backend(name: str) -> None:
    """Alive is what a process says of itself; a start may take five minutes."""
    for owner, container in containers(name):
        if container["name"] == "provision":
            continue
        alive = container["livenessProbe"]["httpGet"]["path"]
        assert alive == ("/healthz?js-enabled-only=true" if container["name"] == "nats" else "/healthz"), (
            owner
        )
        if container["name"] == "forwarder":
            # it is ready while NATS answers, and its pod serves recalls without NATS
            assert "readinessProbe" not in container
        else:
            assert container["readinessProbe"]["httpGet"]["path"] != alive
        start = container["startupProbe"]
        assert start["periodSeconds"] * start["failureThreshold"] >= 300
        assert (
            container["livenessProbe"]["periodSeconds"] * container["livenessProbe"]["failureThreshold"] >= 60
        )


@pytest.mark.parametrize("name", ["all_on", "tls", "nats_bucket", "shards"])
def test_every_file_of_a_setting_is_in_the_secret_of_its_pod_and_no_other_is(name: str) -> None:
    """A pod that is broken into gives away its own user of NATS alone."""
    known = {"ca.pem", "server.pem", "server.key", "tokens.json", "token-forwarder", "nats-access.conf"}
    known |= {f"nats-{one}" for one in ("ingest", "doc2query", "kg", "extract", "consolidation", "forwarder")}
    known |= {"nats-gateway", "nats-operator", "nats-replica", "keys.json"}
    for owner, pod in pods(name):
        volumes = {one["name"]: one["secret"]["items"] for one in pod["spec"]["volumes"] if "secret" in one}
        for container in pod["spec"]["containers"]:
            items = [item for mount in container["volumeMounts"] for item in volumes.get(mount["name"], [])]
            assert {item["key"] for item in items} <= known
            paths = [Path(value) for value in environment(container).values()]
            wanted = {path.name for path in paths if path.parent == Path("/etc/helix/security")}
            held = {item["path"] for item in items}
            assert wanted <= held, owner
            users = [item["key"] for item in items if item["key"].startswith(("nats-", "token-"))]
            assert len([key for key in users if key.startswith("nats-")]) <= 1, owner


@pytest.mark.parametrize("name", VALUES)
def test_without_credentials_a_service_says_that_it_is_open(name: str) -> None:
    """A service refuses another address than loopback without one of the two."""
    for _, container, settings in services(name):
        if "auth" in settings.model_fields:
            given, prefix = environment(container), settings.model_config["env_prefix"]
            assert (f"{prefix}INSECURE" in given) is (f"{prefix}AUTH" not in given)
            assert (f"{prefix}AUTH" in given) is (name in {"all_on", "tls", "nats_bucket", "shards"})


def test_the_model_is_copied_into_the_volume_that_its_services_read(tmp_path: Path) -> None:
    """The program of the container, with the folders of this machine."""
    models = [
        (pod["spec"]["initContainers"][0], pod["spec"]["containers"][0])
        for _, pod in pods("all_on")
        if "initContainers" in pod["spec"]
    ]
    assert len(models) == 4
    program = models[0][0]["args"][0]
    assert all(one["args"] == [program] for one, _ in models)
    (tmp_path / "of-image/minilm").mkdir(parents=True)
    (tmp_path / "of-image/minilm/model.json").write_text("{}")
    (tmp_path / "volume").mkdir()
    # a volume belongs to root: its own times and mode cannot be changed
    program = program.replace("/var/lib/helix/models", f"{tmp_path}/of-image").replace(
        "/models/", f"{tmp_path}/volume/"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-I", "-c", program], check=True, timeout=30)
    assert (tmp_path / "volume/installed/minilm/model.json").read_text() == "{}"
    for _, container in models:
        assert "/models/installed" in environment(container).values()
        assert {"name": "models", "mountPath": "/models", "readOnly": True} in container["volumeMounts"]


@pytest.mark.parametrize("name", ["tls", "nats_bucket"])
def test_a_bucket_in_nats_is_provisioned_and_read_by_a_user_of_its_own(name: str) -> None:
    """Where the bucket is another one, query has no user of NATS."""
    found = {container["name"]: container for _, container in containers(name)}
    is_nats = name == "nats_bucket"
    assert ("--bucket" in found["provision"]["args"]) == is_nats
    names = {"HELIX_QUERY_BUCKET_CREDENTIALS_FILE", "HELIX_QUERY_BUCKET_CA_FILE"}
    assert (environment(found["query"]).keys() & names) == (names if is_nats else set())
    keys = {
        item["key"]
        for owner, pod in pods(name)
        if owner.endswith("query")
        for volume in pod["spec"]["volumes"]
        if volume["name"] == "security"
        for item in volume["secret"]["items"]
    }
    assert ("nats-replica" in keys) == is_nats
