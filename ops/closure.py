#!/usr/bin/env python3
"""Prints the part of requirements.lock that services need, with hashes, for an image or `make install`.

    python ops/closure.py query              the lines of the lock for services/query
    python ops/closure.py 'query[object-storage]'    with an extra of the service
    python ops/closure.py hatchling query    for several: services, members or packages of the lock
    python ops/closure.py --members query    the workspace members it needs, in order of installation

Direct requirements come from the pyproject.toml of the members, indirect ones from the "via" comments of the
lock. Uses the standard library only: ops/Dockerfile runs it before anything is installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEMBER_FOLDERS = ("proto", "shared", "services/*", "ops/lab")

_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([^]]*)])?[^;]*$")
_PIN = re.compile(r"^([a-z0-9-]+)==\S+")


@dataclass(frozen=True, slots=True)
class Member:
    """One workspace member: its folder, and its requirements by extra ("" without extra)."""

    folder: str
    requirements: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Pin:
    """One package of the lock: its lines, and the packages that require it."""

    lines: list[str]
    required_by: set[str]


def read_members(root: Path) -> dict[str, Member]:
    """Members by normalised project name."""
    members = {}
    for pattern in MEMBER_FOLDERS:
        for file in sorted(root.glob(f"{pattern}/pyproject.toml")):
            project = tomllib.loads(file.read_text())["project"]
            extras = project.get("optional-dependencies", {})
            requirements = {"": project.get("dependencies", []), **extras}
            members[normal(project["name"])] = Member(str(file.parent.relative_to(root)), requirements)
    return members


def read_lock(text: str) -> dict[str, Pin]:
    """Pins by name; the comments below a pin name the packages that require it."""
    pins: dict[str, Pin] = {}
    current = Pin([], set())
    for line in text.splitlines():
        if found := _PIN.match(line):
            current = pins[found[1]] = Pin([line], set())
        elif line.strip().startswith("#"):
            names = line.strip("# ").removeprefix("via").split()
            current.required_by.update(normal(name) for name in names[:1])
        elif line.strip():
            current.lines.append(line)
    return pins


def normal(name: str) -> str:
    """Package name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def members_of(
    name: str, members: dict[str, Member], extras: Iterable[str] = ()
) -> tuple[list[str], set[str]]:
    """Members that `name` needs, dependencies first, and the packages that they require directly."""
    ordered: list[str] = []
    direct: set[str] = set()
    seen: set[tuple[str, str]] = set()

    def visit(project: str, extras: Iterable[str]) -> None:
        if project not in members:
            direct.add(project)
            return
        for extra in ("", *extras):
            if (project, extra) not in seen:
                seen.add((project, extra))
                for required, its_extras in _parsed(members[project].requirements[extra]):
                    visit(required, its_extras)
        if project not in ordered:
            ordered.append(project)

    visit(name, extras)
    return ordered, direct


def closure(direct: set[str], pins: dict[str, Pin]) -> list[str]:
    """`direct` and everything that they require, sorted.

    Raises:
        KeyError: a direct requirement is not in the lock.
    """
    needs: dict[str, set[str]] = {name: set() for name in pins}
    for name, pin in pins.items():
        for dependent in pin.required_by & pins.keys():
            needs[dependent].add(name)
    reached: set[str] = set()
    waiting = sorted(direct)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += needs[name]
    return sorted(reached)


def _parsed(requirements: list[str]) -> Iterator[tuple[str, list[str]]]:
    for requirement in requirements:
        found = _REQUIREMENT.match(requirement)
        if found is None:
            message = f"requirement {requirement!r} has a marker; members may use none"
            raise ValueError(message)
        yield normal(found[1]), [extra.strip() for extra in (found[2] or "").split(",") if extra.strip()]


def main(arguments: list[str]) -> int:
    """Print the closure of the arguments, or the members among it."""
    only_members = arguments[:1] == ["--members"]
    names = arguments[only_members:]
    if not names or any(name.startswith("-") for name in names):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    members = read_members(ROOT)
    ordered: list[str] = []
    direct: set[str] = set()
    for name in names:
        its_members, its_packages = members_of(*_root(name, members))
        ordered += [one for one in its_members if one not in ordered]
        direct |= its_packages
    pins = read_lock((ROOT / "requirements.lock").read_text())
    if missing := sorted(direct - pins.keys()):
        sys.stderr.write(f"not in requirements.lock: {', '.join(missing)}; run `make lock`\n")
        return 1
    if only_members:
        lines = [members[name].folder for name in ordered]
    else:
        lines = [line for name in closure(direct, pins) for line in pins[name].lines]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _root(argument: str, members: dict[str, Member]) -> tuple[str, dict[str, Member], list[str]]:
    """The project that an argument such as `query[object-storage]` names, and its extras."""
    wanted, _, extras = argument.removesuffix("]").partition("[")
    folders = {f"services/{wanted}", wanted}
    project = next((name for name, member in members.items() if member.folder in folders), normal(wanted))
    return project, members, [extra for extra in extras.split(",") if extra]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
