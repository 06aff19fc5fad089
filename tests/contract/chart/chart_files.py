"""The chart, its values files, and what helm makes of them; `make chart-setup` installs helm."""

import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
CHART = ROOT / "ops/chart/helix"
VALUES = sorted(path.stem for path in (Path(__file__).parent / "values").iterdir())
TOOLS = ROOT / ".venv-chart/bin"
NEEDS_HELM = pytest.mark.skipif(not (TOOLS / "helm").exists(), reason="`make chart-setup` installs helm")


def helm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run helm on the chart; no configuration of this machine counts."""
    command = [str(TOOLS / "helm"), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={"HOME": "/nowhere"}
    )


def template(name: str, *options: str) -> "subprocess.CompletedProcess[str]":
    """Render with one of the values files."""
    values = Path(__file__).parent / "values" / f"{name}.yaml"
    return helm("template", "memory", str(CHART), "--namespace", "ours", "--values", str(values), *options)


@functools.cache
def text(name: str) -> str:
    """What helm renders with one of the values files."""
    done = template(name)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(name: str, *kinds: str) -> list[dict[str, Any]]:
    """The objects of these kinds; of all kinds where none is named."""
    return [one for one in _objects(name) if not kinds or one["kind"] in kinds]


@functools.cache
def _objects(name: str) -> list[dict[str, Any]]:
    return [one for one in yaml.load_all(text(name), Loader=yaml.CSafeLoader) if one]


def pods(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pod templates with the names of what makes them."""
    for one in objects(name, "Deployment", "StatefulSet", "Job"):
        yield one["metadata"]["name"], one["spec"]["template"]


def containers(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The containers that last, with the names of what makes their pods."""
    for owner, pod in pods(name):
        for container in pod["spec"]["containers"]:
            yield owner, container


def environment(container: dict[str, Any]) -> dict[str, str]:
    """Variables with a value in the manifest."""
    return {one["name"]: one["value"] for one in container.get("env", []) if "value" in one}
