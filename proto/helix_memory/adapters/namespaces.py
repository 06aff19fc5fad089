"""Namespaces of LangGraph: tuples of labels, matched by a prefix or a suffix in which `*` is any label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Namespace = tuple[str, ...]


def listed_namespaces(
    namespaces: Iterable[Namespace],
    matches: Sequence[tuple[str, Namespace]],
    *,
    max_depth: int | None,
    offset: int,
    limit: int,
) -> list[Namespace]:
    """A part of the namespaces that match everything, cut to `max_depth` labels, each once and in order."""
    found = {one[:max_depth] for one in namespaces if all(does_match(*match, one) for match in matches)}
    return sorted(found)[offset : offset + limit]


def does_match(kind: str, path: Sequence[str], namespace: Namespace) -> bool:
    """Whether a namespace begins (`prefix`) or ends (`suffix`) with a path."""
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
