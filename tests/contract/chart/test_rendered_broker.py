"""NATS of the chart, provisioning, scaling by what waits, network policies, monitoring."""

import contextlib
import json
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix_shared.broker import server, streams
from helix_shared.broker.server import free_port
from helix_shared.errors import TemporaryError

from .chart_files import NEEDS_HELM, VALUES, containers, objects, pods, template

pytestmark = NEEDS_HELM


def nats_conf(name: str, folder: Path, **replaced: str) -> Path:
    """The rendered configuration with the folders and ports of this machine."""
    (found,) = [one for one in objects(name, "ConfigMap") if "nats.conf" in one["data"]]
    text = found["data"]["nats.conf"].replace("/var/lib/helix/nats", str(folder))
    for old, new in replaced.items():
        text = text.replace(old, new)
    path = folder / "nats.conf"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["default", "all_on", "tls"])
def test_nats_server_accepts_its_configuration(name: str, tmp_path: Path) -> None:
    """Of one server, of a cluster, and with the users of a Secret."""
    (tmp_path / "security").mkdir()
    (tmp_path / "security/nats-access.conf").write_text("authorization { users: [] }\n")
    command = [str(server.server_binary()), "-t", "-c", str(nats_conf(name, tmp_path))]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"POD_NAME": "memory-nats-0"}
    )
    assert done.returncode == 0, done.stderr


def test_a_started_server_answers_the_probes_of_its_pod(tmp_path: Path) -> None:
    """It has the name of its pod, by which KEDA asks for the leader of a consumer."""
    client, monitoring = free_port(), free_port()
    ports = {"0.0.0.0:4222": f"127.0.0.1:{client}", "0.0.0.0:8222": f"127.0.0.1:{monitoring}"}
    config = nats_conf("default", tmp_path, **ports)
    command = [str(server.server_binary()), "-c", str(config), "-l", str(tmp_path / "log")]
    process = subprocess.Popen(command, env={"POD_NAME": "memory-nats-0"})
    try:
        url = f"nats://127.0.0.1:{client}"
        assert _name_at(url) == "memory-nats-0"
        (container,) = [one for _, one in containers("default") if one["name"] == "nats"]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = container[probe]["httpGet"]["path"]
            address = f"http://127.0.0.1:{monitoring}{path}"
            with urllib.request.urlopen(address, timeout=10) as reply:
                assert reply.status == 200
    finally:
        process.terminate()
        process.wait(20)


def _name_at(url: str) -> str:
    for _ in range(400):
        try:
            return server.server_name_at(url)
        except TemporaryError:
            time.sleep(0.05)
    return ""


def test_the_servers_of_a_cluster_elect_a_leader(tmp_path: Path) -> None:
    """The names of pods in the routes stand for the ports of this machine."""
    ports = [(free_port(), free_port(), free_port()) for _ in range(3)]
    routes = {
        f"memory-nats-{n}.memory-nats:6222": f"127.0.0.1:{route}" for n, (_, _, route) in enumerate(ports)
    }
    started = []
    try:
        for number, (client, monitoring, route) in enumerate(ports):
            own = {"0.0.0.0:4222": f"127.0.0.1:{client}", "0.0.0.0:8222": f"127.0.0.1:{monitoring}"}
            folder = tmp_path / str(number)
            (folder / "security").mkdir(parents=True)
            (folder / "security/nats-access.conf").write_text("")
            config = nats_conf("all_on", folder, **own, **{"0.0.0.0:6222": f"127.0.0.1:{route}"}, **routes)
            command = [str(server.server_binary()), "-c", str(config), "-l", str(folder / "log")]
            started.append(subprocess.Popen(command, env={"POD_NAME": f"memory-nats-{number}"}))
        assert _leader(ports[0][1]) in {f"memory-nats-{number}" for number in range(3)}
    finally:
        for process in started:
            process.kill()
            process.wait(20)


def _leader(monitoring: int) -> str:
    """The leader of JetStream as one server sees it, of three servers."""
    for _ in range(300):
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{monitoring}/jsz") as reply,
        ):
            found = json.load(reply).get("meta_cluster", {})
            if found.get("cluster_size") == 3 and found.get("leader"):
                return str(found["leader"])
        time.sleep(0.1)
    return ""


@pytest.mark.parametrize("name", ["all_on", "own_nats_elsewhere"])
def test_workers_scale_by_consumers_that_provisioning_creates(name: str) -> None:
    """A missing consumer would be scaled to the maximum; without an answer the replicas stay few."""
    provisioned = {(one.stream, one.name) for one in (*streams.CONSUMERS, *streams.ENDPOINT_CONSUMERS)}
    scaled = objects(name, "ScaledObject")
    assert scaled
    for one in scaled:
        (trigger,) = one["spec"]["triggers"]
        assert trigger["type"] == "nats-jetstream"
        metadata = trigger["metadata"]
        assert (metadata["stream"], metadata["consumer"]) in provisioned
        assert one["spec"]["scaleTargetRef"]["name"] == f"memory-{metadata['consumer']}"
        assert "://" not in metadata["natsServerMonitoringEndpoint"]
        assert one["spec"]["fallback"]["replicas"] == one["spec"]["minReplicaCount"]
        assert all(isinstance(value, str) for value in metadata.values())


@pytest.mark.parametrize("name", VALUES)
def test_one_thing_scales_a_deployment(name: str) -> None:
    """A number of replicas in the manifest would undo what the scaler does, at every upgrade."""
    scalers = objects(name, "ScaledObject", "HorizontalPodAutoscaler")
    scaled = [one["spec"]["scaleTargetRef"]["name"] for one in scalers]
    assert len(scaled) == len(set(scaled))
    for one in objects(name, "Deployment"):
        assert ("replicas" in one["spec"]) is (one["metadata"]["name"] not in scaled)
    assert not any(one.startswith("memory-writer") for one in scaled)


@pytest.mark.parametrize("name", ["default", "all_on"])
def test_a_drain_takes_one_pod_at_a_time_and_is_never_stopped(name: str) -> None:
    """Each budget is of pods that exist; the writer, which is alone, has none."""
    for budget in objects(name, "PodDisruptionBudget"):
        spec = budget["spec"]
        assert (spec["maxUnavailable"], "minAvailable" in spec) == (1, False)
        chosen = [
            owner
            for owner, pod in pods(name)
            if spec["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        ]
        assert chosen == [budget["metadata"]["name"]]
        assert chosen != ["memory-writer"]
    budgets = {budget["metadata"]["name"] for budget in objects(name, "PodDisruptionBudget")}
    assert {one["metadata"]["name"] for one in objects(name, "Deployment")} <= budgets


def test_provisioning_is_a_hook_where_nats_is_there_before() -> None:
    """With the NATS of the chart a hook would wait for a server that comes after it."""
    (hook,) = objects("own_nats_elsewhere", "Job")
    assert hook["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    arguments = hook["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[1:] == [
        "helix_cli",
        "provision",
        "--nats",
        "nats://nats.broker.svc:4333",
        "--replicas",
        "3",
        "--shards",
        "1",
    ]
    assert hook["spec"]["template"]["spec"]["serviceAccountName"] == "default"
    (job,) = objects("all_on", "Job")
    assert "annotations" not in job["metadata"]
    assert job["metadata"]["name"].endswith("-1")
    assert job["spec"]["template"]["spec"]["containers"][0]["args"][-5:] == [
        *("--replicas", "3"),
        *("--shards", "1"),
        "--endpoint",
    ]


@pytest.mark.parametrize("replicas", ["1", "null"])
def test_streams_of_another_nats_keep_their_copies_unless_a_number_is_given(replicas: str) -> None:
    """A number that nobody chose would make one copy of three."""
    done = template("own_nats_elsewhere", "--set-json", f"broker.replicas={replicas}")
    (job,) = [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "Job"]
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert ("--replicas" in arguments) is (replicas != "null")
    (unset,) = objects("shards", "Job")
    assert "--replicas" not in unset["spec"]["template"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize("name", ["default", "all_on", "own_nats_elsewhere", "tls", "shards"])
def test_one_policy_bounds_the_network_of_each_pod(name: str) -> None:
    """Both directions; a pod that no policy selects could reach everything."""
    policies = objects(name, "NetworkPolicy")
    for owner, pod in pods(name):
        labels = pod["metadata"]["labels"].items()
        (own,) = [one for one in policies if one["spec"]["podSelector"]["matchLabels"].items() <= labels]
        assert own["spec"]["policyTypes"] == ["Ingress", "Egress"]
        incoming = own["spec"].get("ingress", [])
        opened = {port["port"] for rule in incoming for port in rule["ports"]}
        assert all(rule.get("from") for rule in incoming), owner
        listening = {
            port["containerPort"] for one in pod["spec"]["containers"] for port in one.get("ports", [])
        }
        assert opened == listening, owner


def test_a_service_without_named_callers_is_open_to_none() -> None:
    """In a NetworkPolicy a rule without peers would let everybody in."""
    done = template(
        "all_on", "--set-json", "networkPolicy.clients=[]", "--set-json", "networkPolicy.monitoring=[]"
    )
    policies = [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "NetworkPolicy"]
    incoming = {one["metadata"]["name"]: one["spec"].get("ingress") or [] for one in policies}
    assert incoming["memory-gateway"] == incoming["memory-deep"] == incoming["memory-writer"] == []
    assert [rule["ports"] for rule in incoming["memory-query"]] == [[{"port": 7461}]]
    assert all(rule["from"] for rules in incoming.values() for rule in rules)


@pytest.mark.parametrize("name", ["default", "own_nats_elsewhere"])
def test_a_pod_may_call_what_its_settings_name(name: str) -> None:
    """Otherwise it would never start."""
    policies = {one["metadata"]["name"]: one["spec"]["egress"] for one in objects(name, "NetworkPolicy")}
    nats = 4222 if name == "default" else 4333
    allowed = {
        owner: {port["port"] for rule in rules for port in rule["ports"]} for owner, rules in policies.items()
    }
    assert allowed["memory-ingest"] == {53, nats}
    assert allowed["memory-writer"] == allowed["memory-query"] == {53, nats, 443}
    assert allowed["memory-gateway"] == {53, nats, 7461}


def _selects(one: dict[str, Any], labels: dict[str, str]) -> bool:
    return bool(one["spec"]["selector"]["matchLabels"].items() <= labels.items())


def test_monitoring_has_the_dashboard_the_alerts_and_the_job_that_they_ask_for() -> None:
    """Alerts are of `up{job="helix"}`."""
    (monitor,) = objects("all_on", "ServiceMonitor")
    (chosen,) = [one for one in objects("all_on", "Service") if _selects(monitor, one["metadata"]["labels"])]
    assert {one["port"] for one in monitor["spec"]["endpoints"]} == {
        one["name"] for one in chosen["spec"]["ports"]
    }
    for endpoint in monitor["spec"]["endpoints"]:
        assert {"action": "replace", "targetLabel": "job", "replacement": "helix"} in endpoint["relabelings"]
    (rules,) = objects("all_on", "PrometheusRule")
    assert len([rule for group in rules["spec"]["groups"] for rule in group["rules"]]) > 20
    (board,) = [one for one in objects("all_on", "ConfigMap") if "helix.json" in one["data"]]
    assert board["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert '"panels"' in board["data"]["helix.json"]
