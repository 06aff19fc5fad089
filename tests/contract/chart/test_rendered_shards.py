"""Several shards, JWTs and traces: values that reach several services at once."""

from pathlib import Path
from typing import Any

import pytest

from helix_consolidation.settings import ConsolidationSettings
from helix_memory.sharding import MOST_SHARDS
from helix_shared.shard_map import bucket_of_shard
from helix_shared.telemetry.tracing.setup import endpoint_of

from .chart_files import NEEDS_HELM, containers, environment, objects, pods
from .test_chart_source import SCHEMA

pytestmark = NEEDS_HELM
CALLED = ("query", "deep", "gateway")


def named(name: str, container: str) -> dict[str, dict[str, Any]]:
    """Containers of this name, by what makes their pods."""
    return {owner: one for owner, one in containers(name) if one["name"] == container}


def shards_of_provision(name: str) -> int:
    """What provisioning makes."""
    (arguments,) = [one["args"] for one in named(name, "provision").values()]
    return int(arguments[arguments.index("--shards") + 1])


@pytest.mark.parametrize(("name", "shards"), [("default", 1), ("shards", 3), ("shards_together", 2)])
def test_every_shard_has_a_writer_with_a_volume_of_its_own(name: str, shards: int) -> None:
    """The first one keeps the name and the volume that it had when it was alone."""
    writers = named(name, "consolidation")
    assert list(writers) == ["memory-writer", *(f"memory-writer-{n}" for n in range(1, shards))]
    assert [environment(one)["HELIX_CONSOLIDATION_SHARD"] for one in writers.values()] == [
        str(shard) for shard in range(shards)
    ]
    assert shards_of_provision(name) == shards
    sets = [one for one in objects(name, "StatefulSet") if one["metadata"]["name"] in writers]
    services = {one["metadata"]["name"]: one["spec"]["selector"] for one in objects(name, "Service")}
    for one in sets:
        spec = one["spec"]
        assert [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]] == ["data"]
        assert spec["replicas"] == (0 if name == "shards_together" else 1)
        selected = spec["selector"]["matchLabels"]
        assert [s["metadata"]["name"] for s in sets if _selects(selected, s)] == [one["metadata"]["name"]]
        assert services[spec["serviceName"]] == selected
        assert spec["template"]["spec"]["serviceAccountName"] == "memory-writer"


def _selects(selected: dict[str, str], one: dict[str, Any]) -> bool:
    return bool(selected.items() <= one["spec"]["template"]["metadata"]["labels"].items())


def buckets_of_writers(name: str) -> list[str]:
    """Where each shard is uploaded, as the service computes it."""
    prefix = "HELIX_CONSOLIDATION_"
    given = [environment(one) for one in named(name, "consolidation").values()]
    loaded = (
        ConsolidationSettings.load(
            **{key.removeprefix(prefix).lower(): one[key] for key in one if key.startswith(prefix)}
        )
        for one in given
    )
    return [one.own_bucket for one in loaded]


def test_each_shard_is_served_from_the_prefix_that_its_writer_uploads_to() -> None:
    """Apart: a Deployment, a Service and an address of each, in the order of shards."""
    queries = named("shards", "query")
    assert list(queries) == ["memory-query", "memory-query-1", "memory-query-2"]
    read = [environment(one)["HELIX_QUERY_BUCKET"] for one in queries.values()]
    assert read == buckets_of_writers("shards")
    assert len(set(read)) == 3
    assert not any("HELIX_QUERY_SHARDS" in environment(one) for one in queries.values())
    for caller in ("deep", "gateway"):
        ((_, one),) = named("shards", caller).items()
        address = environment(one)[f"HELIX_{caller.upper()}_QUERY_ADDRESS"]
        assert address == ",".join(f"{owner}:7461" for owner in queries)
    policies = {one["metadata"]["name"]: one["spec"]["egress"] for one in objects("shards", "NetworkPolicy")}
    called = {
        peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for rule in policies["memory-gateway"]
        for peer in rule.get("to", [])
        if "podSelector" in peer
    }
    assert {f"memory-{one}" for one in called} == set(queries)
    scaled = {one["spec"]["scaleTargetRef"]["name"] for one in objects("shards", "HorizontalPodAutoscaler")}
    assert set(queries) <= scaled


def test_a_replica_of_all_shards_knows_each_of_them() -> None:
    """Together: one address; the process adds the prefix of each shard itself."""
    ((owner, one),) = named("shards_together", "query").items()
    given = environment(one)
    numbers = [int(shard) for shard in given["HELIX_QUERY_SHARDS"].split(",")]
    read = [bucket_of_shard(given["HELIX_QUERY_BUCKET"], shard) for shard in numbers]
    assert read == buckets_of_writers("shards_together")
    assert owner == "memory-query"
    assert "HELIX_QUERY_SHARDS" not in environment(named("default", "query")["memory-query"])


def test_the_schema_allows_as_many_shards_as_there_may_be() -> None:
    """Provisioning refuses more."""
    shards = SCHEMA["properties"]["writer"]["properties"]["shards"]
    assert (shards["minimum"], shards["maximum"]) == (1, MOST_SHARDS)


def test_keys_of_jwts_are_where_every_service_with_callers_looks() -> None:
    """In a volume, which follows a change of the Secret; a `subPath` would not."""
    found = 0
    for _, pod in pods("shards"):
        volumes = {one["name"]: one.get("secret", {}) for one in pod["spec"]["volumes"]}
        for container in pod["spec"]["containers"]:
            mounts = {one["name"]: one for one in container["volumeMounts"]}
            assert ("jwt" in mounts) is (container["name"] in CALLED)
            if "jwt" not in mounts:
                continue
            found += 1
            given = environment(container)
            prefix = f"HELIX_{container['name'].upper()}_"
            (item,) = volumes["jwt"]["items"]
            assert volumes["jwt"]["secretName"] == "helix-jwt"
            assert item["key"] == "keys.json"
            path = Path(mounts["jwt"]["mountPath"]) / item["path"]
            assert given[f"{prefix}JWT_KEYS_FILE"] == str(path)
            assert "subPath" not in mounts["jwt"]
            assert given[f"{prefix}AUTH"] == ("jwt" if container["name"] == "deep" else "tokens+jwt")
            assert given[f"{prefix}JWT_ISSUER"] == "https://login.example"
            assert given[f"{prefix}JWT_AUDIENCE"] == "helix"
    assert found == 5


@pytest.mark.parametrize(
    ("name", "address", "port"),
    [
        ("shards", "http://collector.observability:4317", 4317),
        ("shards_together", "https://collector.example:443", 443),
    ],
)
def test_every_service_sends_its_spans_and_may_reach_the_collector(
    name: str, address: str, port: int
) -> None:
    """The variable has no prefix of a service, so `settings` cannot set it."""
    policies = objects(name, "NetworkPolicy")
    for owner, pod in pods(name):
        for container in pod["spec"]["containers"]:
            is_service = container["name"] not in {"nats", "provision"}
            assert endpoint_of(environment(container)) == (address if is_service else "")
            if not is_service:
                continue
            labels = pod["metadata"]["labels"].items()
            (own,) = [one for one in policies if one["spec"]["podSelector"]["matchLabels"].items() <= labels]
            rules = [rule for rule in own["spec"]["egress"] if {"port": port} in rule["ports"]]
            assert rules, owner
            if name == "shards":
                assert [rule["to"] for rule in rules] == [[{"namespaceSelector": {}}]]
    assert all(not endpoint_of(environment(one)) for _, one in containers("default"))


def test_the_forwarder_may_have_a_secret_as_every_service_may() -> None:
    """A credential of the collector, for one."""
    ((_, forwarder),) = named("shards_together", "forwarder").items()
    assert forwarder["envFrom"] == [{"secretRef": {"name": "collector"}}]
