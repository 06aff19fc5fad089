"""`helix up --shards 2`, on a home that had one: the client finds the shard of a tenant by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from helix_cli.stack.stack import Stack
from helix_memory.client import Helix
from helix_memory.errors import InvalidInputError, PermanentError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.sharding import hashed_shard
from helix_memory.transport.recall_client import RecallClient

from .running import run

pytestmark = pytest.mark.integration

OLD = next(f"old{n}" for n in range(99) if hashed_shard(f"old{n}", 2) == 1)
"""Existed when there was one shard: it stays there, although hashing places it in the second."""
FIRST = next(f"new{n}" for n in range(99) if hashed_shard(f"new{n}", 2) == 0)
SECOND = next(f"new{n}" for n in range(99) if hashed_shard(f"new{n}", 2) == 1)
UNUSED = dict.fromkeys(("doc2query", "kg"), 0)


@dataclass
class Sharded:
    """A stack with two shards, and one text of each tenant."""

    stack: Stack
    texts: dict[str, str]

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

    def recalled(self, tenant: str) -> list[str]:
        """What a tenant recalls."""
        with self.client(tenant) as helix:
            return [one.text for one in helix.recall("where is the key?").memories]


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Sharded]:
    """A home with one shard and one tenant, then with two shards and three tenants."""
    home = tmp_path_factory.mktemp("home")
    with Stack(home, nats_port=0, query_port=0, copies=UNUSED, models=models_dir) as stack:
        stack.wait_ready()
        made = Sharded(stack, {})
        made.remember(OLD, "The key of the shed is under the blue pot.")
    with Stack(home, nats_port=0, query_port=0, copies=UNUSED, models=models_dir, shards=2) as stack:
        stack.wait_ready()
        made.stack = stack
        made.remember(FIRST, "The key of the boat is in the drawer.")
        made.remember(SECOND, "The key of the attic is behind the mirror.")
        yield made


def test_every_tenant_recalls_its_own_and_nothing_else(sharded: Sharded) -> None:
    """Also the one that was there before: the client is told once that it lies in the first shard."""
    for tenant in (OLD, FIRST, SECOND):
        assert sharded.recalled(tenant) == [sharded.texts[tenant]]


def test_a_service_of_another_shard_refuses_the_tenant(sharded: Sharded) -> None:
    """It does not answer that there is nothing; a recall that waits for an event is refused as well."""
    first, second = sharded.stack.query_address.split(",")
    for tenant, wrong, right in ((OLD, second, 0), (FIRST, second, 0), (SECOND, first, 1)):
        with RecallClient(wrong) as client:
            for sequence in (0, 10_000):
                request = recall_pb2.RecallRequest(
                    scope=recall_pb2.Scope(tenant_id=tenant), query="where is the key?", min_seq=sequence
                )
                with pytest.raises(PermanentError, match=f"{tenant} lies in shard {right}"):
                    client.recall(request)


def test_the_status_of_a_tenant_is_that_of_its_shard(sharded: Sharded) -> None:
    """The status without a tenant counts the memories of all."""
    with RecallClient(sharded.stack.query_address) as client:
        assert client.status().memories == 3
        assert [client.status(one).memories for one in (OLD, FIRST, SECOND)] == [2, 2, 1]


def test_a_killed_writer_and_query_service_stop_no_other_shard(sharded: Sharded) -> None:
    """The first shard writes and answers while the second has no process; then it goes on."""
    for child in [one for one in sharded.stack.processes if one.name in {"consolidation-2", "query-2"}]:
        child.kill()
    sharded.remember(FIRST, "The key of the cellar hangs on a nail.")
    sharded.stack.wait_ready()
    sharded.remember(SECOND, "The key of the tower is lost.")
    assert sharded.texts[SECOND] in sharded.recalled(SECOND)
    assert sharded.texts[FIRST] in sharded.recalled(FIRST)


def test_commands_find_the_shards(sharded: Sharded) -> None:
    """Status, publish and recall work; what needs the one data folder says that there are several."""
    home = sharded.stack.home.root
    code, out, err = run(home, "status")
    assert code == 0, err
    assert "consolidation-derived-1" in out
    code, _, err = run(home, "publish", "--tenant", SECOND, "--text", "The key of the barn is red.", "--wait")
    assert code == 0, err
    code, out, _ = run(home, "recall", "the key of the barn", "--tenant", SECOND)
    assert "barn is red" in out
    code, out, err = run(home, "shards", "plan", "--shards", "3", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["tenants"] == {OLD: 0, FIRST: 0, SECOND: 1}
    assert [row["tenants"] for row in told["shards"]] == [2, 1]
    assert told["planned"] == 3
    code, _, err = run(home, "shards", "plan", "--shards", "1")
    assert code != 0
    assert "1 must be 2 to 16" in err
    for command in (["rebuild"], ["export"], ["backup", str(home / "copy")], ["doctor"]):
        code, _, err = run(home, *command)
        assert code != 0
        assert "not possible yet in a home with 2 shards" in err


def test_one_query_process_serves_all_shards(sharded: Sharded, models_dir: Path) -> None:
    """With HELIX_QUERY_SHARDS; a client with its one address finds the tenants of both."""
    home = sharded.stack.home.root
    sharded.stack.stop()
    environment = {"HELIX_QUERY_SHARDS": "0,1"}
    with Stack(
        home, nats_port=0, query_port=0, copies=UNUSED, models=models_dir, environment=environment
    ) as stack:
        stack.wait_ready()
        names = [child.name for child in stack.processes]
        assert [name for name in names if name.startswith(("query", "forwarder"))] == [
            "query-1",
            "forwarder-1",
        ]
        assert "," not in stack.query_address
        together = Sharded(stack, dict(sharded.texts))
        for tenant, text in sharded.texts.items():
            assert together.recalled(tenant) == [text]
        together.remember(SECOND, "The key hangs in the hall.")
        assert "The key hangs in the hall." in together.recalled(SECOND)


def test_a_query_process_for_some_shards_is_refused(tmp_path: Path) -> None:
    """The others would have none."""
    with pytest.raises(InvalidInputError, match="must name all shards of this home: 0,1"):
        Stack(tmp_path, shards=2, environment={"HELIX_QUERY_SHARDS": "1"})
