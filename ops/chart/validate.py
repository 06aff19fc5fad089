#!/usr/bin/env python3
"""Validates rendered objects strictly against published schemas, in the environment of `make chart-setup`.

    helm template ... | .venv-chart/bin/python ops/chart/validate.py [VERSION ...]

VERSION is a minor version of Kubernetes, such as 1.29. Prints a line for each problem; exit code 1: there is
one. Kubernetes: its OpenAPI schemas without additional properties. KEDA, the Prometheus operator: the models
that cloudcoil makes from their custom resource definitions; a field that a model lacks is a problem, too.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

import kubernetes_validate
import yaml
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from referencing import Registry, Resource

NEWEST: Final = kubernetes_validate.latest_version().removesuffix(".0")
_SCHEMAS: Final = files("kubernetes_validate") / "kubernetes-json-schema"
# Their import takes seconds, so only what is rendered is imported.
CUSTOM: Final = {
    "keda.sh/v1alpha1": "cloudcoil.models.keda.v1alpha1",
    "monitoring.coreos.com/v1": "cloudcoil.models.prometheus_operator.v1",
}


def problems(document: dict[str, Any], version: str) -> Iterator[str]:
    """What is wrong with one object."""
    name = f"{document['kind']}/{document['metadata']['name']}"
    if module := CUSTOM.get(document["apiVersion"]):
        model = getattr(importlib.import_module(module), document["kind"])
        yield from (f"{name}: {problem}" for problem in _of_model(document, model))
        return
    validator = _validator(document["kind"], document["apiVersion"], version)
    if validator is None:
        yield f"{name}: Kubernetes {version} has no schema of it"
        return
    for error in validator.iter_errors(document):
        yield f"{name} in {version}: {'.'.join(map(str, error.path))}: {error.message}"


# The function of the package reads all definitions again for every object.
@functools.cache
def _validator(kind: str, api_version: str, version: str) -> Draft202012Validator | None:
    # networking.k8s.io/v1 NetworkPolicy is networkpolicy-networking-v1.json
    name = f"{kind.lower()}-{re.sub(r'[.][^/]*/|/', '-', api_version)}.json"
    found = _SCHEMAS / f"v{version}.0-local-strict" / name
    if not found.is_file():
        return None
    schema = json.loads(found.read_text())
    return Draft202012Validator(schema, registry=Resource.from_contents(schema) @ _definitions(version))


@functools.cache
def _definitions(version: str) -> Registry[Any]:
    text = (_SCHEMAS / f"v{version}.0-local-strict" / "_definitions.json").read_text()
    return Resource.from_contents(json.loads(text)) @ Registry()


def _of_model(document: dict[str, Any], model: Any) -> Iterator[str]:
    try:
        read = model.model_validate(document)
    except ValidationError as error:
        yield from (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        return
    known = read.model_dump(by_alias=True, exclude_unset=True, mode="json")
    yield from _unknown(document, known, "")


def _unknown(given: Any, known: Any, path: str) -> Iterator[str]:
    """Fields of `given` that `known` lacks: models leave out what they do not know."""
    if isinstance(given, dict) and isinstance(known, dict):
        for key, value in given.items():
            if key not in known:
                yield f"{path}.{key}: unknown field".removeprefix(".")
            else:
                yield from _unknown(value, known[key], f"{path}.{key}")
    elif isinstance(given, list) and isinstance(known, list):
        for place, (one, other) in enumerate(zip(given, known, strict=True)):
            yield from _unknown(one, other, f"{path}[{place}]")


def main(versions: list[str]) -> int:
    """Validate what standard input has; the exit code."""
    documents = [one for one in yaml.load_all(sys.stdin, Loader=yaml.CSafeLoader) if one]
    found = {
        problem
        for version in versions or [NEWEST]
        for document in documents
        for problem in problems(document, version)
    }
    sys.stdout.write("".join(f"{problem}\n" for problem in sorted(found)))
    return 1 if found or not documents else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
