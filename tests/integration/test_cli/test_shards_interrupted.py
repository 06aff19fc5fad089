"""Commands on a home with two shards that are killed midway, or overlap."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helix_cli.model_build.description import Description
from helix_cli.model_build.importing import Origin, import_folder
from helix_cli.residue.stored import stored_rows
from helix_cli.stack.stack import Stack
from helix_memory.sharding import hashed_shard
from helix_shared.encoders.store import default_model
from helix_shared.keys.key_store import KEYS

from .running import run
from .sharded import Sharded

pytestmark = [pytest.mark.integration, pytest.mark.long]

FIRST, SECOND = (next(f"t{n}" for n in range(99) if hashed_shard(f"t{n}", 2) == shard) for shard in (0, 1))
UNUSED = dict.fromkeys(("doc2query", "kg"), 0)
MEMORIES = 40


@pytest.fixture(scope="module")
def models(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, encoder_folder: Callable[..., Path]
) -> Path:
    """The default model, and a small one."""
    root, built = tmp_path_factory.mktemp("interrupted"), default_model(models_dir)
    shutil.copytree(built, root / "models" / built.name)
    small = encoder_folder(root / "tiny", Description(pooling="mean", max_tokens=96))
    import_folder(small, root / "models", Origin("tiny", "a test", keep_fp32=True), existing="refuse")
    return root / "models"


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Sharded]:
    """Two shards, one tenant in each."""
    home = tmp_path_factory.mktemp("home")
    (home / "models").symlink_to(models)
    with Stack(home, nats_port=0, query_port=0, copies=UNUSED, models=models, shards=2) as stack:
        stack.wait_ready()
        made = Sharded(stack, {}, models)
        for tenant, place in ((FIRST, "boat"), (SECOND, "attic")):
            with made.client(tenant) as helix:
                for number in range(MEMORIES):
                    helix.remember(f"The box number {number} is in the {place}.")
            made.remember(tenant, f"The key of the {place} is in the drawer.")
        yield made


def killed_at(home: Path, line: str, *arguments: str) -> None:
    """Run a command, and kill it as soon as it says a line that ends so."""
    environment = os.environ | {"HELIX_HOME": str(home)}
    command = [sys.executable, "-m", "helix_cli", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        said = []
        for one in process.stderr:
            said.append(one)
            if one.rstrip().endswith(line):
                process.kill()
                break
        assert process.wait(60) < 0, said


def texts(data: Path, tenant: str) -> list[str]:
    """The texts of a tenant in a data folder, in order."""
    return sorted(row["text"] for row in stored_rows(data, tenant))


def test_a_backup_that_overlaps_a_move_has_every_memory_once(sharded: Sharded, tmp_path: Path) -> None:
    """It is whole, or refused and then not there; from each, one shard of a new home has the tenant."""
    home, backups = sharded.stack.home.root, tmp_path / "backups"
    wanted = texts(sharded.stack.home.data_of(1), SECOND)
    assert len(wanted) == MEMORIES + 1

    def move(shard: int) -> tuple[int, str, str]:
        environment = os.environ | {"HELIX_HOME": str(home)}
        command = [sys.executable, "-m", "helix_cli", "shards", "move", SECOND, "--to", str(shard)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        return done.returncode, done.stdout, done.stderr

    made, refused = 0, 0
    with ThreadPoolExecutor(1) as beside:
        for shard in (0, 1):
            moving = beside.submit(move, shard)
            while not moving.done():
                code, out, err = run(home, "backup", str(backups), "--json")
                assert code == 0 or "in other shards meanwhile; try again" in err, (out, err)
                made, refused = made + (code == 0), refused + (code != 0)
            code, out, err = moving.result()
            assert code == 0, out + err
    assert refused, "no backup overlapped the end of a move"
    assert run(home, "backup", str(backups), "--json")[0] == 0
    code, out, err = run(home, "backup", str(backups), "--verify")
    assert (code, out.count("all good")) == (0, made + 1), (out, err)
    for number in range(max(1, made), made + 2):
        restored = tmp_path / f"restored-{number}"
        (restored / "models").parent.mkdir()
        (restored / "models").symlink_to(sharded.models)
        keys = ("--keys", str(home / "data" / KEYS), "--number", str(number))
        code, out, err = run(restored, "restore", str(backups), *keys, "--json")
        assert code == 0, (number, out, err)
        with Stack(
            restored, nats_port=0, query_port=0, copies=UNUSED, models=sharded.models, shards=2
        ) as stack:
            stack.wait_ready()
            with Sharded(stack, {}, sharded.models).client(SECOND) as helix:
                helix.remember("The bag is in the hall.", wait=True)
            both = [texts(stack.home.data_of(one), SECOND) for one in (0, 1)]
        assert sorted([*both[0], *both[1]]) == sorted([*wanted, "The bag is in the hall."]), number
        assert [] in both, number


def test_a_killed_change_of_the_model_is_continued(sharded: Sharded) -> None:
    """Killed while the second shard is prepared, and again with one shard changed and the other not."""
    home = sharded.stack.home.root
    use = ("models", "use", "tiny", "--every", "0.1")
    for line in ("shard 1 of 2", "shard 1 of 2: what came meanwhile, and its place"):
        killed_at(home, line, *use)
        sharded.expect_all()
    for tenant in (FIRST, SECOND):
        # not recallable in every shard before the command has ended: ingest embeds with one model
        sharded.texts[tenant] = "The key of the shed is under the pot."
        with sharded.client(tenant) as helix:
            helix.remember(sharded.texts[tenant])
    code, out, err = run(home, *use)
    assert code == 0, (out, err)
    status = json.loads(run(home, "status", "--json")[1])["query"]
    assert [(one["shard"], one["model"]) for one in status["shards"]] == [(0, "tiny"), (1, "tiny")]
    sharded.expect_all()
    for shard, tenant in enumerate((FIRST, SECOND)):
        assert len(texts(sharded.stack.home.data_of(shard), tenant)) == MEMORIES + 2
    assert "in use already" in run(home, "models", "use", "tiny")[1]
