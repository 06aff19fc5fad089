"""A stack with several shards, its backups, and the homes that they become."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix_cli.home.folder import HomeFolder
from helix_cli.stack.stack import Stack
from helix_memory.client import Helix
from helix_memory.errors import TemporaryError
from tests.integration.test_extract.endpoint_server import EndpointServer

from .running import run, until


@dataclass
class Sharded:
    """A stack with two shards, and one text of each tenant."""

    stack: Stack
    texts: dict[str, str]
    models: Path
    model_server: EndpointServer | None = None
    """The language model of deep recalls."""

    def client(self, tenant: str, address: str = "") -> Helix:
        """A client of a tenant; by default with the addresses of all shards."""
        return Helix(
            tenant=tenant, nats_url=self.stack.nats_url, query_address=address or self.stack.query_address
        )

    def remember(self, tenant: str, text: str) -> None:
        """Write one memory and wait until it can be recalled."""
        with self.client(tenant) as helix:
            helix.remember(text, wait=True)
        self.texts[tenant] = text

    def expect_all(self) -> None:
        """Every tenant recalls its text, at the latest when everything is made again."""
        for tenant in self.texts:
            until(lambda tenant=tenant: self._is_recalled(tenant))

    def _is_recalled(self, tenant: str) -> bool:
        """Whether a tenant recalls its text; not while its shard is loaded."""
        try:
            return self.texts[tenant] in self.recalled(tenant)
        except TemporaryError:
            return False

    def newest_are_served(self) -> bool:
        """Whether doctor finds nothing wrong, and the newest generation of each shard served."""
        home = self.stack.home
        code, out, _ = run(home.root, "doctor", "--json")
        newest = [(home.data_of(shard) / "CURRENT").read_text().strip() for shard in (0, 1)]
        served = [one["found"] for one in json.loads(out)["findings"] if one["check"] == "query"]
        return code == 0 and served == [
            f"shard {n}: serves generation {number}" for n, number in enumerate(newest)
        ]

    def recalled(self, tenant: str) -> list[str]:
        """What a tenant recalls."""
        with self.client(tenant) as helix:
            return [one.text for one in helix.recall("where is the key?").memories]


@dataclass
class Saved:
    """Backups of the stack, a copy of its keys, and the homes that they become."""

    folder: Path
    models: Path
    """The default model, and a small one."""
    texts: dict[str, str] = field(default_factory=dict)
    """One of each tenant, as of the last backup."""

    @property
    def keys(self) -> Path:
        """The keys of the home that was backed up."""
        return self.folder.with_name("keys")

    def back_up(self, home: Path) -> dict[str, Any]:
        """Make a backup; returns what the command says."""
        code, out, err = run(home, "backup", str(self.folder), "--json")
        assert code == 0, (out, err)
        told: dict[str, Any] = json.loads(out)
        return told

    def restore(self, name: str, *, number: int) -> Path:
        """Restore a backup into a new home."""
        home = self.folder.with_name(name)
        (home / "models").parent.mkdir()
        (home / "models").symlink_to(self.models)
        arguments = ("--keys", str(self.keys), "--number", str(number), "--json")
        code, out, err = run(home, "restore", str(self.folder), *arguments)
        assert code == 0, (out, err)
        told = json.loads(out)
        # the first backup of the three was made before the erased event
        assert told["left_out"] == (1 if number == 2 else 0)
        assert told["has_generation"] is (number == 3)
        assert [bool(one["generation"]) for one in told["shards"]] == [number == 3] * 2
        assert HomeFolder.at(home).shards == 2
        return home
