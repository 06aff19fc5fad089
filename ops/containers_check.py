#!/usr/bin/env python3
"""Builds every image of compose.yaml with podman, runs its services, and asks them the demo's questions.

    ops/containers_check.py [--keep]      0: all of it holds; 1: something does not; 2: another argument;
                                          3: podman is missing

Services, environment, volumes, health checks, limits and the order of starts are read from compose.yaml.
The containers share the network of the host, because not every machine can make a bridge. So the names of
services mean 127.0.0.1, addresses are bound to it, and each service has a metrics port of its own.
Where the registry cannot be reached, the base is a Debian with Python 3.11 from debootstrap (as root).
At the end containers, volumes and images that were not there before are removed, without `--keep`.
HELIX_BUILD_OPTIONS has more options of `podman build`, such as the mount of a package mirror.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from containers_run import PREFIX, ROOT, Compose, Failed, podman, run, say

BASE: Final = "docker.io/library/python:3.11-slim"
QUERY_LIMIT_MIB: Final = 400
"""Above its base and without extras; with `[object-storage]` it has more (ops/decisions/0079)."""
KEEP: Final = "--keep"
NO_PODMAN: Final = 3
PORTS: Final = (4222, 7461, 7462, 8222)


def prepare_base(scratch: Path) -> None:
    """Have the base image; make it where it cannot be had."""
    for command in (("image", "exists", BASE), ("pull", "--quiet", BASE)):
        try:
            podman(*command)
        except Failed:
            continue
        return
    if shutil.which("debootstrap") is None:
        raise Failed(f"{BASE} cannot be pulled, and debootstrap is missing")
    root, archive = scratch / "root", scratch / "base.tar"
    wanted = "--include=python3.11,ca-certificates"
    run("debootstrap", "--variant=minbase", wanted, "bookworm", str(root))
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    run("chroot", str(root), "apt-get", "install", "-y", "--no-install-recommends", "python3.11-venv")
    run("chroot", str(root), "ln", "-s", "/usr/bin/python3.11", "/usr/local/bin/python")
    left_out = [f"--exclude=./{one}" for one in ("proc", "sys", "dev", "var/lib/apt/lists", "var/cache/apt")]
    run("tar", "-C", str(root), *left_out, "-c", "-f", str(archive), ".")
    podman("import", str(archive), BASE)


def build(compose: Compose) -> list[str]:
    """Build each image once; the rows of the table."""
    base, rows = _size(BASE), []
    images = {PREFIX + one["image"]: one["build"]["args"]["SERVICE"] for one in compose.services.values()}
    for image, service in images.items():
        began = time.monotonic()
        options = [
            "--isolation",
            "chroot",
            "--network",
            "host",
            *shlex.split(os.environ.get("HELIX_BUILD_OPTIONS", "")),
        ]
        arguments = [
            "--build-arg",
            f"SERVICE={service}",
            "--file",
            str(ROOT / "ops/Dockerfile"),
            "--tag",
            image,
        ]
        podman("build", *options, *arguments, str(ROOT))
        above = (_size(image) - base) / 2**20
        rows.append(
            f"{image:<22} {above:8.0f} MiB above its base   built in {time.monotonic() - began:5.0f} s"
        )
        say(rows[-1])
        if service == "query" and above >= QUERY_LIMIT_MIB:
            raise Failed(f"{image} has {above:.0f} MiB above its base; the limit is {QUERY_LIMIT_MIB}")
    return rows


def _size(image: str) -> int:
    return int(podman("image", "inspect", "--format", "{{.Size}}", image))


def ask(*options: str) -> None:
    """The demo's questions; each must be answered as it expects."""
    addresses = ("--nats", "nats://127.0.0.1:4222", "--query", "127.0.0.1:7461")
    say(run(sys.executable, str(ROOT / "ops/demo/run.py"), *addresses, *options))


def check(compose: Compose) -> None:
    """Start all, ask, restart what holds data, and ask again."""
    for name in compose.ordered():
        compose.start(name)
        say(f"started {name}")
    for name in compose.lasting():
        compose.wait_healthy(name)
    say("every service is healthy")
    ask()
    for name in ("nats", "consolidation", "query"):
        podman("restart", PREFIX + name)
        compose.wait_healthy(name)
        say(f"restarted {name}")
    for name in compose.lasting():
        compose.wait_healthy(name)
    ask("--asks-only")


def remove(compose: Compose, *, images: set[str]) -> None:
    """Remove containers, volumes and `images`; what is not there is no failure."""
    podman(
        "rm", "--force", "--ignore", "--time", "20", *(PREFIX + name for name in reversed(compose.services))
    )
    volumes = {mount["source"] for one in compose.services.values() for mount in one.get("volumes", [])}
    podman("volume", "rm", "--force", *(PREFIX + name for name in volumes if not name.startswith(".")))
    if images:
        podman("rmi", "--force", "--ignore", *images)


def stored() -> set[str]:
    """Ids of all images, also of those between the steps of a build."""
    return set(podman("images", "--all", "--quiet", "--no-trunc").split())


def main(arguments: list[str]) -> int:
    """Check; the exit code."""
    if set(arguments) - {KEEP}:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    missing = [name for name in ("podman", "runc") if shutil.which(name) is None]
    if missing:
        sys.stderr.write(f"{' and '.join(missing)} missing: the containers were not checked\n")
        return NO_PODMAN
    for port in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                sys.stderr.write(f"port {port} of 127.0.0.1 is taken\n")
                return 1
    with tempfile.TemporaryDirectory(prefix="helix-containers-") as folder:
        Path(folder).chmod(0o755)
        compose = Compose.read("all", Path(folder))
        before = stored()
        try:
            prepare_base(Path(folder))
            rows = build(compose)
            check(compose)
        except Failed as error:
            sys.stderr.write(f"{error}\n")
            return 1
        finally:
            remove(compose, images=set() if KEEP in arguments else stored() - before)
    say(*rows, "the questions are answered, also after the restarts")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
