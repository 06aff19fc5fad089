"""The services of compose.yaml as podman runs them on the network of the host, for `containers_check`."""  # noqa: INP001  a script imports it

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[1]
PREFIX: Final = "helix-check-"
LIMITS: Final = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
READY_SECONDS: Final = 180.0
FIRST_METRICS_PORT: Final = 19100


class Failed(Exception):  # noqa: N818  the outcome of a check
    """Something does not hold; the text says what."""


def say(*lines: str) -> None:
    """Print lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def podman(*arguments: str) -> str:
    """Run podman; its output."""
    return run("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", *arguments)


def run(*command: str) -> str:
    """Run a command; its output.

    Raises:
        Failed: it ended with another code than 0.
    """
    done = subprocess.run(  # noqa: S603  of this file and of compose.yaml
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise Failed(f"{shlex.join(command)[:200]}: {done.stdout[-3000:]}")
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
        """Names, each after those that it waits for.

        Raises:
            Failed: services wait for each other, or for one of another profile.
        """
        waiting = {name: set(service.get("depends_on", {})) for name, service in self.services.items()}
        while waiting:
            free = [name for name, wanted in waiting.items() if wanted.isdisjoint(waiting)]
            if not free or not waiting[free[0]] <= self.services.keys():
                raise Failed(f"{', '.join(waiting)} cannot be started: {waiting}")
            yield free[0]
            del waiting[free[0]]

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
        options += [
            "--restart",
            service["restart"],
            "--user",
            service["user"],
            "--memory",
            service["mem_limit"],
        ]
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
        image, command = PREFIX + self.services[name]["image"], self.services[name]["command"]
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
                    raise Failed(
                        f"{name} is not healthy: {error}\n{podman('logs', '--tail', '20', PREFIX + name)}"
                    ) from error
                time.sleep(1)
            else:
                return

    def lasting(self) -> list[str]:
        """Services that do not end."""
        return [name for name, service in self.services.items() if "healthcheck" in service]
