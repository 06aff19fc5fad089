"""The files of the chart: values and their schema, versions, links, images. Needs no helm."""

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from .chart_files import CHART, ROOT

SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
GIVEN = {**DEFAULTS, "bucket": "s3://bucket/prefix"}
REGISTRIES = re.compile(
    r"\b(docker\.io|ghcr\.io|quay\.io|gcr\.io|registry\.k8s\.io|public\.ecr)|https?://(?!json-schema)"
)


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref", "")
    found: dict[str, Any] = SCHEMA["definitions"][reference.rsplit("/", 1)[1]] if reference else schema
    return found


def _closed(schema: dict[str, Any], values: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of the objects with a fixed set of keys."""
    schema = _resolved(schema)
    if schema.get("additionalProperties") is False and isinstance(values, dict):
        yield path
        for key, value in values.items():
            yield from _closed(schema["properties"][key], value, (*path, key))


CLOSED = list(_closed(SCHEMA, DEFAULTS))


def _is_valid(values: dict[str, Any]) -> bool:
    return jsonschema.Draft7Validator(SCHEMA).is_valid(values)


def _at(values: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for key in path:
        values = values[key]
    return values


def test_the_defaults_follow_the_schema_but_for_the_bucket() -> None:
    """A replica without a bucket would have nothing to serve."""
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert not _is_valid(DEFAULTS)
    jsonschema.validate(GIVEN, SCHEMA)


@pytest.mark.parametrize("path", CLOSED, ids=".".join)
def test_every_value_has_a_default_and_an_unknown_one_is_refused(path: tuple[str, ...]) -> None:
    """A misspelt value must not be ignored."""
    schema = SCHEMA
    for key in path:
        schema = _resolved(schema["properties"][key])
    assert set(_resolved(schema)["properties"]) == set(_at(GIVEN, path))
    wrong = copy.deepcopy(GIVEN)
    _at(wrong, path)["replica"] = 1
    assert not _is_valid(wrong)


@pytest.mark.parametrize("path", CLOSED, ids=".".join)
def test_a_value_of_another_type_is_refused(path: tuple[str, ...]) -> None:
    """Null and a list are no value of any key; a key of Kubernetes' own objects may hold a list."""
    for key, value in _at(GIVEN, path).items():
        wrong = copy.deepcopy(GIVEN)
        _at(wrong, path)[key] = {} if isinstance(value, list) else []
        assert not _is_valid(wrong), key


def test_there_are_closed_objects_at_every_depth() -> None:
    """Otherwise the tests above would compare nothing."""
    assert {0, 1, 2, 3} <= {len(path) for path in CLOSED}
    assert len(CLOSED) > 25


def test_images_have_one_version_that_is_the_project_s() -> None:
    """`global.image.version` replaces both defaults."""
    version = tomllib.loads((ROOT / "services/cli/pyproject.toml").read_text())["project"]["version"]
    for chart in (CHART, CHART / "charts/nats"):
        assert yaml.safe_load((chart / "Chart.yaml").read_text())["appVersion"] == version
    assert DEFAULTS["global"]["image"]["version"] == ""


def test_the_chart_carries_the_files_of_ops_and_no_copies() -> None:
    """A copy would become old."""
    links = {"files/helix.json": "dashboards/helix.json", "files/alerts.yml": "dashboards/alerts.yml"}
    for link, target in {**links, "charts/nats/files/nats.conf": "nats.conf"}.items():
        assert (CHART / link).is_symlink()
        assert (CHART / link).resolve() == ROOT / "ops" / target


def test_no_file_of_the_chart_names_a_registry_or_repository() -> None:
    """NATS is a chart inside this one, so that its dependency needs no address."""
    for path in (ROOT / "ops/chart").rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert not REGISTRIES.search(path.read_text()), path
    dependency = yaml.safe_load((CHART / "Chart.yaml").read_text())["dependencies"][0]
    assert "repository" not in dependency
    assert (CHART / "charts" / dependency["name"] / "Chart.yaml").is_file()


def test_the_image_of_the_model_is_built_from_that_of_the_cli() -> None:
    """The same command as the service `models` of compose.yaml."""
    lines = (ROOT / "ops/chart/model.Dockerfile").read_text().splitlines()
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["models"]
    run = next(json.loads(line.removeprefix("RUN ")) for line in lines if line.startswith("RUN "))
    assert [*run[:2]] == ["/opt/helix/bin/python", "-I"]
    assert run[2:] == compose["command"]
    assert compose["build"]["args"] == {"SERVICE": "cli"}
