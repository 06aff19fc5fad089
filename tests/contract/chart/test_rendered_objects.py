"""What helm renders, against the published schemas, and which values it refuses."""

import subprocess
from pathlib import Path

import pytest
import yaml

from helix_memory.sharding import MOST_SHARDS

from .chart_files import CHART, NEEDS_HELM, ROOT, TOOLS, VALUES, helm, objects, template, text

pytestmark = NEEDS_HELM
OLDEST, NEWEST = "1.27", "1.37"


def problems(manifests: str, *versions: str) -> list[str]:
    """What the validator says, a line each."""
    command = [str(TOOLS / "python"), str(ROOT / "ops/chart/validate.py"), *versions]
    done = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False, timeout=240)
    assert (done.returncode == 0) is not done.stdout, done.stderr
    return done.stdout.splitlines()


def test_every_object_follows_its_published_schema() -> None:
    """Strictly: a field that Kubernetes, KEDA or the Prometheus operator does not know is a problem."""
    assert problems("\n---\n".join(text(name) for name in VALUES), NEWEST) == []


def test_every_object_is_one_of_the_oldest_supported_kubernetes() -> None:
    """`kubeVersion` of the chart names it."""
    assert f">={OLDEST}." in (CHART / "Chart.yaml").read_text()
    assert problems(text("default"), OLDEST) == []


def test_the_validator_finds_what_is_misspelt() -> None:
    """The control: without strict schemas these would pass."""
    wrong, said = text("all_on"), []
    for right, other, message in (
        ("terminationGracePeriodSeconds", "gracePeriod", "'gracePeriod' was unexpected"),
        (
            "maxUnavailable: 1\n  selector",
            "maxUnavailable: [1]\n  selector",
            "spec.maxUnavailable: [1] is not",
        ),
        ("cooldownPeriod:", "coolDown:", "spec.coolDown: unknown field"),
        ("targetLabel: instance", "target: instance", "relabelings[1].target: unknown field"),
        ("kind: ConfigMap", "kind: ConfigMop", "has no schema of it"),
    ):
        assert right in wrong
        wrong = wrong.replace(right, other)
        said.append(message)
    found = "\n".join(problems(wrong, NEWEST))
    assert [message for message in said if message not in found] == []


@pytest.mark.parametrize("name", VALUES)
def test_helm_finds_nothing_to_say(name: str) -> None:
    """Its own rules, for names and versions."""
    values = f"{ROOT}/tests/contract/chart/values/{name}.yaml"
    done = helm("lint", str(CHART), "--strict", "--values", values)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("querry.replicas=3", "querry"),
        ("query.replicas=many", "/query/replicas"),
        ("query.settings.threads=2", "threads"),
        ("query.settings.METRICS_PORT=9200", "the chart sets HELIX_QUERY_METRICS_PORT itself"),
        ("workers.scaling=magic", "/workers/scaling"),
        ("nats.replicas=2", "/replicas"),
        ("nats.foo=2", "foo"),
        ("bucket=/a/folder", "/bucket"),
        ("global.security.allowUnauthenticated=false", "set existingSecret"),
        ("broker.url=nats://other:4222", "set one of them"),
        ("nats.enabled=false", "broker.url: is needed"),
        ("writer.shards=17", "/writer/shards"),
        ("writer.shards=0", "/writer/shards"),
        ("query.shards=some", "/query/shards"),
        ("tracing.endpoint=collector:4317", "/tracing/endpoint"),
        ("tracing.variables.SAMPLER=a", "SAMPLER"),
        ("jwt.existingSecret=keys", "needs global.security.existingSecret"),
        ("gateway.settings.AUTH=jwt", "gateway.settings.AUTH: jwt needs jwt.existingSecret"),
    ],
)
def test_wrong_values_are_refused_by_name(option: str, said: str) -> None:
    """By the schema, or where two values belong together by the chart."""
    done = template("default", "--set", option)
    assert done.returncode != 0
    assert said in done.stderr


def test_jwts_need_an_issuer_and_leave_the_forwarder_its_token() -> None:
    """Without tokens query would refuse its own forwarder."""
    done = template("shards", "--set", "jwt.audience=")
    assert "jwt: issuer and audience are needed" in done.stderr
    done = template("shards", "--set", "query.settings.AUTH=jwt")
    assert "use tokens+jwt" in done.stderr
    assert template("shards", "--set", "query.settings.AUTH=tokens+jwt").returncode == 0


def test_keda_needs_the_monitoring_of_another_nats() -> None:
    """It asks there how many messages wait."""
    done = template("own_nats_elsewhere", "--set", "broker.monitoring=")
    assert "broker.monitoring: is needed" in done.stderr


@pytest.mark.parametrize(("characters", "is_taken"), [(40, True), (41, False)])
def test_a_release_name_leaves_room_for_those_of_pods(characters: int, *, is_taken: bool) -> None:
    """The hash of a StatefulSet's revision is a label with its name: 52 characters, or no pod is made."""
    values = Path(__file__).parent / "values/default.yaml"
    options = ["--values", str(values), "--set", f"writer.shards={MOST_SHARDS}"]
    done = helm("template", "m" * characters, str(CHART), *options)
    assert (done.returncode == 0) is is_taken
    if not is_taken:
        assert "release name: has 41 characters; at most 40" in done.stderr
        return
    made = [one for one in yaml.safe_load_all(done.stdout) if one]
    names = [one["metadata"]["name"] for one in made if one["kind"] == "StatefulSet"]
    assert len(names) == MOST_SHARDS + 1
    assert max(map(len, names)) <= 52


@pytest.mark.parametrize("name", VALUES)
def test_no_two_objects_have_one_name(name: str) -> None:
    """The later one would replace the earlier one."""
    names = [(one["apiVersion"], one["kind"], one["metadata"]["name"]) for one in objects(name)]
    assert len(names) == len(set(names))
    assert all(one["metadata"]["namespace"] == "ours" for one in objects(name))


def test_what_is_switched_off_is_not_rendered() -> None:
    """And what is switched on is."""
    kinds = {name: {one["kind"] for one in objects(name)} for name in VALUES}
    assert {"ScaledObject", "ServiceMonitor", "PrometheusRule", "NetworkPolicy"} <= kinds["all_on"]
    assert "ScaledObject" not in kinds["default"]
    optional = {
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "ScaledObject",
        "ServiceMonitor",
    }
    assert not optional & kinds["least"]
    assert [one["metadata"]["name"] for one in objects("own_nats_elsewhere", "StatefulSet")] == [
        "memory-writer"
    ]
