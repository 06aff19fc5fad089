"""`helix up --shards 2`, on a home that had one: the client finds the shard of a tenant by itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record
from helix_cli.model_build.description import Description
from helix_cli.model_build.importing import Origin, import_folder
from helix_cli.residue.stored import stored_rows
from helix_cli.stack.stack import Stack
from helix_memory.errors import InvalidInputError, PermanentError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.sharding import hashed_shard
from helix_memory.transport.recall_client import RecallClient
from helix_shared.encoders.store import default_model
from helix_shared.keys.key_store import KEYS
from tests.integration.test_deep.running import answering
from tests.integration.test_extract.endpoint_server import EndpointServer

from .running import run, until
from .sharded import Saved, Sharded

pytestmark = pytest.mark.integration

OLD = next(f"old{n}" for n in range(99) if hashed_shard(f"old{n}", 2) == 1)
"""Existed when there was one shard: it stays there, although hashing places it in the second."""
FIRST = next(f"new{n}" for n in range(99) if hashed_shard(f"new{n}", 2) == 0)
SECOND = next(f"new{n}" for n in range(99) if hashed_shard(f"new{n}", 2) == 1)
CANARY = "zqattic"
UNUSED = dict.fromkeys(("doc2query", "kg"), 0)
DEEP = ("acme", "globex")
"""Tenants of both shards whose deep recalls may use the language model."""


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Sharded]:
    """A home with one shard and one tenant, then with two shards and three tenants."""
    home = tmp_path_factory.mktemp("home")
    with Stack(home, nats_port=0, query_port=0, copies=UNUSED | {"forwarder": 0}, models=models_dir) as stack:
        stack.wait_ready()
        made = Sharded(stack, {}, models_dir)
        made.remember(OLD, "The key of the shed is under the blue pot.")
    texts = {name: ["the kiln of Odile"] for name in ("terms", "questions", "notes", "passages")}
    # all workers: an erasure is complete when they have acknowledged what was derived
    with (
        EndpointServer() as server,
        Stack(
            home,
            nats_port=0,
            query_port=0,
            models=models_dir,
            shards=2,
            environment={
                "HELIX_DEEP_BASE_URL": server.url,
                "HELIX_DEEP_MODEL": "small",
                "HELIX_DEEP_TENANTS": ",".join(DEEP),
                "HELIX_DEEP_API_KEY": "sesame-4711",
            },
        ) as stack,
    ):
        server.answer_request = answering(texts, lambda notes: [len(notes)])
        made.model_server = server
        stack.wait_ready()
        made.stack = stack
        made.remember(FIRST, "The key of the boat is in the drawer.")
        made.remember(SECOND, "The key of the attic is behind the mirror.")
        yield made


@pytest.fixture(scope="module")
def saved(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, encoder_folder: Callable[..., Path]
) -> Saved:
    """Nothing is saved yet."""
    root = tmp_path_factory.mktemp("saved")
    built = default_model(models_dir)
    shutil.copytree(built, root / "models" / built.name)
    small = encoder_folder(root / "tiny", Description(pooling="mean", max_tokens=96))
    import_folder(small, root / "models", Origin("tiny", "a test", keep_fp32=True), existing="refuse")
    return Saved(root / "backups", root / "models")


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


def test_doctor_and_archive_look_at_every_shard(sharded: Sharded) -> None:
    """What is damaged in the second shard is found there, and repaired there."""
    home = sharded.stack.home
    code, out, err = run(home.root, "doctor", "--json")
    found = [
        one["found"] for one in json.loads(out)["findings"] if one["check"] in {"stores", "log", "query"}
    ]
    assert code == 0, (out, err)
    assert [one.split(":")[0] for one in found] == ["shard 0", "shard 1"] * 3
    code, out, err = run(home.root, "archive", "verify", "--json")
    assert code == 0, err
    kept = [one["records"] for one in json.loads(out)["shards"]]
    assert len(kept) == 2
    assert min(kept) > 0


def test_the_tenant_of_a_later_shard_is_exported_cloned_and_drawn(sharded: Sharded, tmp_path: Path) -> None:
    """The command finds the shard by itself; what was erased there does not leave."""
    home = sharded.stack.home.root
    code, out, err = run(home, "memory", "ls", "--tenant", SECOND, "--json")
    assert code == 0, err
    barn = next(one["memory_id"] for one in json.loads(out)["memories"] if "barn" in one["text"])
    # what `helix erase --verify` searches for
    assert barn in {row["memory_id"] for row in stored_rows(sharded.stack.home.data_of(1), SECOND)}
    code, out, err = run(home, "erase", barn, "--tenant", SECOND, "--yes", "--no-wait")
    assert code == 0, (out, err)
    file = tmp_path / "second.jsonl"
    # refused until the erase event is applied there
    until(lambda: run(home, "export", "--tenant", SECOND, "--out", str(file))[0] == 0)
    assert sharded.texts[SECOND] in file.read_text()
    assert "barn" not in file.read_text()
    code, out, err = run(home, "clone", "--tenant", SECOND, "--to", "copied", "--wait")
    assert code == 0, err
    assert sharded.texts[SECOND] in sharded.recalled("copied")
    code, out, err = run(home, "graph", "--tenant", SECOND, "--json")
    assert code == 0, err
    assert json.loads(out)["generation"] > 0


def test_a_language_model_orders_deep_recalls_of_each_shard(sharded: Sharded) -> None:
    """From events to answers that the model ordered; the key stays with the service."""
    assert {hashed_shard(tenant, 2) for tenant in DEEP} == {0, 1}
    stack, server = sharded.stack, sharded.model_server
    assert server is not None
    assert [child.name for child in stack.processes][-1] == "deep-1"
    record = read_record(stack.home)
    assert record is not None
    assert record.deep_address == stack.deep_address != ""
    for tenant in DEEP:
        for text in ("Odile's kiln is in the cellar.", f"Odile fires the kiln of {tenant} on Fridays."):
            said = ("publish", "--tenant", tenant, "--session", "s1", "--text", text, "--wait")
            code, _, err = run(stack.home.root, *said)
            assert code == 0, err
        deep = ("recall", "when does Odile fire?", "--tenant", tenant, "--deep", "--json")
        code, out, err = run(stack.home.root, *deep)
        assert code == 0, err
        result = json.loads(out)
        assert result["is_deep"] is True, result
        memories = result["recall"]["memories"]
        assert sum(tenant in one["memory"]["text"] for one in memories) == 1
        assert len(memories) == 2
        assert result["scores"][0]["model_rank"] == 1
    assert set(server.keys) == {"Bearer sesame-4711"}
    assert not [log for log in stack.home.logs.iterdir() if "sesame-4711" in log.read_text()]


def test_a_rebuild_makes_every_shard_again(sharded: Sharded) -> None:
    """Each compares with its own generation; other shards keep what is not derived yet of their tenants."""
    home = sharded.stack.home.root
    before = {tenant: sharded.recalled(tenant) for tenant in sharded.texts}
    code, out, err = run(home, "rebuild", "--json")
    assert code == 0, (out, err)
    shards = json.loads(out)["shards"]
    assert [one["shard"] for one in shards] == [0, 1]
    for one in shards:
        assert one["parity"]["refused"] is False
        assert one["memories"] > 0
    assert {tenant: sharded.recalled(tenant) for tenant in before} == before
    code, _, err = run(home, "rebuild", "--shard", "2")
    assert code != 0
    assert "2 must be 0 to 1" in err
    sharded.remember(SECOND, "The key of the lighthouse is with Ana.")


@pytest.mark.long
def test_a_rebuild_of_one_shard_beside_a_stack(sharded: Sharded) -> None:
    """It leaves the other alone; a stopped home does the same below."""
    sharded.remember(SECOND, "The key of the lighthouse is with Ana.")
    code, out, err = run(sharded.stack.home.root, "rebuild", "--shard", "1", "--json")
    assert code == 0, (out, err)
    assert [one["shard"] for one in json.loads(out)["shards"]] == [1]
    assert sharded.texts[SECOND] in sharded.recalled(SECOND)


def test_a_backup_holds_every_shard_and_an_erasure_reaches_it(sharded: Sharded, saved: Saved) -> None:
    """The second adds what is new. The erasure is in the second shard; its key is in the home's one store."""
    home = sharded.stack.home.root
    first = saved.back_up(home)
    sharded.remember(SECOND, f"The key of the {CANARY} is gone.")
    second = saved.back_up(home)
    assert 0 < second["new_bytes"] < second["bytes"]
    for told in first, second:
        assert [one["shard"] for one in told["shards"]] == [0, 1]
        assert min(one["generation"] for one in told["shards"]) > 0
        assert min(one["applied_sequence"] for one in told["shards"]) == told["applied_sequence"]
    found = json.loads(run(home, "memory", "ls", "--tenant", SECOND, "--json")[1])["memories"]
    name = next(one["memory_id"] for one in found if CANARY in one["text"])
    code, out, err = run(home, "erase", name, "--yes", "--tenant", SECOND, "--json", "--wait-seconds", "120")
    assert code == 0, (out, err)
    assert json.loads(out)["places"]["backups"]["count"] == 1
    assert not (sharded.stack.home.data_of(1) / KEYS).exists()
    saved.back_up(home)
    code, out, err = run(home, "backup", str(saved.folder), "--verify")
    assert (code, out.count("all good")) == (0, 3), (out, err)
    # the last text of the tenant is not the erased one
    sharded.texts[SECOND] = "The key of the lighthouse is with Ana."
    saved.texts |= sharded.texts
    (sharded.stack.home.root / "data" / KEYS).rename(saved.keys)
    sharded.stack.stop()


def test_a_damaged_shard_is_repaired_and_rebuilt_without_a_stack(saved: Saved) -> None:
    """In a restored home; doctor points CURRENT of the second shard to a good generation.

    The next test starts a stack on a restored home.
    """
    home = saved.restore("good", number=3)
    at = HomeFolder.at(home).data_of(1)
    number = (at / "CURRENT").read_text()
    (at / "CURRENT").write_text("none")
    code, out, _ = run(home, "doctor")
    assert code == 1
    assert "shard 1: CURRENT holds no number" in out
    run(home, "doctor", "--repair")
    assert (at / "CURRENT").read_text() == number
    assert run(home, "doctor")[0] == 0
    shutil.rmtree(at / "generations")
    code, out, err = run(home, "rebuild", "--shard", "1")
    assert code == 0, (out, err)
    assert run(home, "doctor")[0] == 0
    for shard, tenants in enumerate(([OLD, FIRST], [SECOND])):
        for tenant in tenants:
            kept = {row["text"] for row in stored_rows(HomeFolder.at(home).data_of(shard), tenant)}
            assert saved.texts[tenant] in kept, tenant


def test_one_query_process_serves_all_shards_and_another_model(saved: Saved) -> None:
    """The last test of this home. A client with its one address finds the tenants of both shards.

    The home is a backup of before an erasure: its log alone, of which every shard makes its own again.
    """
    home = saved.restore("older", number=2)
    assert [path for path in home.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()] == []
    environment = {"HELIX_QUERY_SHARDS": "0,1"}
    with Stack(
        home, nats_port=0, query_port=0, copies=UNUSED, models=saved.models, environment=environment
    ) as stack:
        stack.wait_ready()
        names = [child.name for child in stack.processes]
        assert [name for name in names if name.startswith(("query", "forwarder"))] == [
            "query-1",
            "forwarder-1",
        ]
        assert "," not in stack.query_address
        together = Sharded(stack, dict(saved.texts), saved.models)
        together.remember(SECOND, "The key hangs in the hall.")
        together.expect_all()
        until(lambda: run(home, "archive", "verify")[0] == 0)
        # each shard serves its own generation; a shard may publish its next one while doctor looks
        until(together.newest_are_served)
        code, out, err = run(home, "models", "use", "tiny", "--every", "0.1")
        assert code == 0, (out, err)
        assert "shard 1 of 2" in err
        status = json.loads(run(home, "status", "--json")[1])["query"]
        assert [(one["shard"], one["model"]) for one in status["shards"]] == [(0, "tiny"), (1, "tiny")]
        assert sum(one["memories"] for one in status["shards"]) == status["memories"]
        assert "in use already" in run(home, "models", "use", "tiny")[1]
        together.remember(FIRST, "The key of the mill is under the stone.")
        together.expect_all()


def test_a_query_process_for_some_shards_is_refused(tmp_path: Path) -> None:
    """The others would have none."""
    with pytest.raises(InvalidInputError, match="must name all shards of this home: 0,1"):
        Stack(tmp_path, shards=2, environment={"HELIX_QUERY_SHARDS": "1"})
