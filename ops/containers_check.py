#!/usr/bin/env python3
"""Builds every image of compose.yaml with podman, runs its services, and asks them the demo's questions.

    ops/containers_check.py [--keep]      0: all of it holds; 1: something does not; 3: podman is missing

Services, environment, volumes, health checks, limits and the order of starts are read from compose.yaml. The
containers share the network of the host, where a container engine without a bridge works too. So names of services
mean 127.0.0.1, addresses are bound to it, and each service has a metrics port of its own; nothing else differs.
Where the registry cannot be reached, the base is a Debian with Python 3.11 from debootstrap (as root).
Containers, volumes, images and a base that were made here are removed at the end, unless `--keep` is given.
HELIX_BUILD_OPTIONS has more options of `podman build`, such as the mount of a package mirror.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[1]
BASE: Final = "docker.io/library/python:3.11-slim"
PREFIX: Final = "helix-check-"
LIMITS: Final = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
QUERY_LIMIT_MIB: Final = 400
READY_SECONDS: Final = 180.0
FIRST_METRICS_PORT: Final = 19100
NO_PODMAN: Final = 3
PORTS: Final = (4222, 7461, 7462, 8222)


class Failed(Exception):  # noqa: N818  the outcome of a check
    """Something does not hold; the text says what."""


def say(*lines: str) -> None:
    """Print lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def podman(*arguments: str) -> str:
    """Run podman; its output.

    Raises:
        Failed: it ended with another code than 0.
    """
    command = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failed(f"podman {shlex.join(arguments[:2])} …: {done.stdout[-3000:]}")
    return done.stdout.strip()


def interpolated(value: Any) -> Any:
    """A value of compose.yaml with `${NAME:-default}` replaced, as compose does it."""
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: os.environ.get(found[1]) or found[2], value)
    if isinstance(value, list):
        return [interpolated(one) for one in value]
    if isinstance(value, dict):
        return {key: interpolated(one) for key, one in value.items()}
    return value


@dataclass(slots=True)
class Compose:
    """The services of one profile, and what the network of the host changes about them."""

    services: dict[str, dict[str, Any]]
    scratch: Path
    ports: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, profile: str, scratch: Path) -> Compose:
        """Those of `profile` and those of every profile."""
        given = interpolated(yaml.safe_load((ROOT / "compose.yaml").read_text()))["services"]
        taken = {name: one for name, one in given.items() if profile in one.get("profiles", [profile])}
        own = {name: FIRST_METRICS_PORT + number for number, name in enumerate(taken)}
        return cls(taken, scratch, own)

    def ordered(self) -> Iterator[str]:
        """Names, each after those that it waits for."""
        started: set[str] = set()
        while len(started) < len(self.services):
            for name, service in self.services.items():
                if name not in started and started >= set(service.get("depends_on", {})):
                    started.add(name)
                    yield name

    def local(self, name: str, text: str) -> str:
        """`text` of a service as the network of the host needs it."""
        text = text.replace("0.0.0.0", "127.0.0.1")  # noqa: S104  it is taken away
        return text.replace("127.0.0.1:9100", f"127.0.0.1:{self.ports[name]}")

    def environment(self, name: str) -> dict[str, str]:
        """The environment of a service."""
        given = self.services[name].get("environment", {})
        return {
            key: str(self.ports[name]) if key.endswith("_METRICS_PORT") else self.local(name, value)
            for key, value in given.items()
        }

    def run_options(self, name: str) -> list[str]:
        """Options of `podman run` for a service."""
        service = self.services[name]
        network = service.get("network_mode", "host")
        options = ["--name", PREFIX + name, "--network", network, *LIMITS]
        options += ["--restart", service["restart"], "--user", service["user"], "--memory", service["mem_limit"]]
        options += ["--read-only"] if service["read_only"] else []
        options += [f"--cap-drop={one}" for one in service["cap_drop"]]
        options += [f"--security-opt={one.removesuffix(':true')}" for one in service["security_opt"]]
        # podman knows no owner of a tmpfs
        options += ["--tmpfs", "/tmp:mode=1777", "--stop-timeout", service["stop_grace_period"].rstrip("s")]  # noqa: S108
        if "cpu_shares" in service:
            options += ["--cpu-shares", str(service["cpu_shares"])]
        if network == "host":
            options += [f"--add-host={one}:127.0.0.1" for one in self.services]
        for key, value in self.environment(name).items():
            options += ["--env", f"{key}={value}"]
        for mount in service.get("volumes", []):
            options += ["--volume", self._volume(name, mount)]
        if "entrypoint" in service:
            options += ["--entrypoint", service["entrypoint"][0]]
        return options

    def _volume(self, name: str, mount: dict[str, Any]) -> str:
        source = PREFIX + mount["source"]
        if mount["type"] == "bind":
            copy = self.scratch / Path(mount["source"]).name
            copy.write_text(self.local(name, (ROOT / mount["source"]).read_text()))
            copy.chmod(0o644)
            source = str(copy)
        return f"{source}:{mount['target']}:{'ro' if mount.get('read_only') else 'rw'}"

    def start(self, name: str) -> None:
        """Start a service after what it waits for, in the state that it waits for."""
        for wanted, how in self.services[name].get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                self.wait_healthy(wanted)
            elif (code := podman("wait", PREFIX + wanted)) != "0":
                raise Failed(f"{wanted} ended with {code}: {podman('logs', PREFIX + wanted)[-2000:]}")
        image, command = self.services[name]["image"], self.services[name]["command"]
        podman("run", "--detach", *self.run_options(name), image, *command)

    def wait_healthy(self, name: str) -> None:
        """Run the health check of a service until it holds."""
        check = [self.local(name, word) for word in self.services[name]["healthcheck"]["test"][1:]]
        until = time.monotonic() + READY_SECONDS
        while True:
            try:
                podman("exec", PREFIX + name, *check)
            except Failed as error:
                if time.monotonic() > until:
                    raise Failed(f"{name} is not healthy: {error}\n{self._log(name)}") from error
                time.sleep(1)
            else:
                return

    def _log(self, name: str) -> str:
        return podman("logs", "--tail", "20", PREFIX + name)

    def lasting(self) -> list[str]:
        """Services that do not end."""
        return [name for name, service in self.services.items() if "healthcheck" in service]


def prepare_base(scratch: Path) -> bool:
    """Have the base image; whether it was made here."""
    for command in (("image", "exists", BASE), ("pull", "--quiet", BASE)):
        try:
            podman(*command)
        except Failed:
            continue
        return False
    if shutil.which("debootstrap") is None:
        raise Failed(f"{BASE} cannot be pulled, and debootstrap is missing")
    root, archive = scratch / "root", scratch / "base.tar"
    wanted = "--include=python3.11,ca-certificates"
    _do("debootstrap", "--variant=minbase", wanted, "bookworm", str(root))
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    _do("chroot", str(root), "apt-get", "install", "-y", "--no-install-recommends", "python3.11-venv")
    _do("chroot", str(root), "ln", "-s", "/usr/bin/python3.11", "/usr/local/bin/python")
    left_out = [f"--exclude=./{one}" for one in ("proc", "sys", "dev", "var/lib/apt/lists", "var/cache/apt")]
    _do("tar", "-C", str(root), *left_out, "-c", "-f", str(archive), ".")
    podman("import", str(archive), BASE)
    return True


def _do(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failed(f"{shlex.join(command)}: {done.stdout[-3000:]}")


def build(compose: Compose) -> list[str]:
    """Build each image once; the rows of the table."""
    base, rows = _size(BASE), []
    images = {one["image"]: one["build"]["args"]["SERVICE"] for one in compose.services.values()}
    for image, service in images.items():
        began = time.monotonic()
        options = ["--isolation", "chroot", "--network", "host", *shlex.split(os.environ.get("HELIX_BUILD_OPTIONS", ""))]
        arguments = ["--build-arg", f"SERVICE={service}", "--file", str(ROOT / "ops/Dockerfile"), "--tag", image]
        podman("build", *options, *arguments, str(ROOT))
        above = (_size(image) - base) / 2**20
        rows.append(f"{image:<22} {above:8.0f} MiB above its base   built in {time.monotonic() - began:5.0f} s")
        say(rows[-1])
        if service == "query" and above >= QUERY_LIMIT_MIB:
            raise Failed(f"{image} has {above:.0f} MiB above its base; the limit is {QUERY_LIMIT_MIB}")
    return rows


def _size(image: str) -> int:
    return int(podman("image", "inspect", "--format", "{{.Size}}", image))


def ask(*, asks_only: bool) -> None:
    """The demo's questions; each must be answered as it expects."""
    addresses = ["--nats", "nats://127.0.0.1:4222", "--query", "127.0.0.1:7461"]
    command = [sys.executable, str(ROOT / "ops/demo/run.py"), *addresses, *(["--asks-only"] if asks_only else [])]
    if subprocess.run(command, check=False).returncode:
        raise Failed("the demo's questions were not answered as expected")


def check(compose: Compose) -> None:
    """Start all, ask, restart what holds data, and ask again."""
    for name in compose.ordered():
        compose.start(name)
        say(f"started {name}")
    for name in compose.lasting():
        compose.wait_healthy(name)
    say("every service is healthy")
    ask(asks_only=False)
    for name in ("nats", "consolidation", "query"):
        podman("restart", PREFIX + name)
        compose.wait_healthy(name)
        say(f"restarted {name}")
    for name in compose.lasting():
        compose.wait_healthy(name)
    ask(asks_only=True)


def remove(compose: Compose, *, base: bool, images: bool) -> None:
    """Remove what was made; what is not there is no failure."""
    podman("rm", "--force", "--ignore", "--time", "20", *(PREFIX + name for name in reversed(compose.services)))
    volumes = {mount["source"] for one in compose.services.values() for mount in one.get("volumes", [])}
    podman("volume", "rm", "--force", *(PREFIX + name for name in volumes if not name.startswith(".")))
    if images:
        podman("rmi", "--force", *{one["image"] for one in compose.services.values()})
        podman("image", "prune", "--force")
    if base and images:
        podman("rmi", "--force", BASE)


def main(arguments: list[str]) -> int:
    """Check; the exit code."""
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
        made = False
        try:
            made = prepare_base(Path(folder))
            rows = build(compose)
            check(compose)
        except Failed as error:
            sys.stderr.write(f"{error}\n")
            return 1
        finally:
            remove(compose, base=made, images="--keep" not in arguments)
    say(*rows, "the questions are answered, also after the restarts")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
