"""A leased generation stays readable during retention and when another generation is refused."""

import contextlib
import gc
import hashlib
import shutil
import subprocess
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explain import explained
from helix_query.generations.current import CurrentGeneration
from helix_query.profile.files import load_profiles
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.query import Query
from helix_query.recall.recall import recall
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.artifacts.generation.retiring import retire

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OLD = "The archive key hangs behind the door."
NEW = "The archive key hangs beside the window now."
OTHER = "The archive has two rooms."


def fill(corpus: Any) -> dict[str, str]:
    """Publish a memory, its correction and another memory as generation 1; return ids by text."""
    [old] = corpus.add([{"name": "old", "text": OLD, "created_at": NOW - 20 * DAY}])
    correction = {"name": "new", "text": NEW, "corrects": old, "created_at": NOW - DAY}
    superseded = {"hidden": True, "is_latest": False, "created_at": NOW - 20 * DAY}
    _, new, other = corpus.add(
        [{"name": "old", "text": OLD, **superseded}, correction, {"name": "other", "text": OTHER}]
    )
    corpus.publish()
    return {OLD: old, NEW: new, OTHER: other}


def assert_answers(service: Any, ids: dict[str, str]) -> None:
    """Every call is answered in full from generation 1."""
    stub, scope = service.stub(), recall_pb2.Scope(tenant_id="acme")
    query = "where does the archive key hang"
    reply = service.recall(query)
    assert reply.generation == 1
    assert not reply.degraded
    assert {found.memory.text for found in reply.memories} == {NEW, OTHER}
    again = service.recall(query, already_served=[ids[NEW]])
    assert [found.memory.text for found in again.memories] == [OTHER]
    past = service.recall(query, as_of=NOW - 5 * DAY)
    assert not past.degraded
    assert {found.memory.text for found in past.memories} == {OLD, OTHER}
    for text in (NEW, OTHER):
        got = stub.GetMemory(recall_pb2.GetMemoryRequest(memory_id=ids[text], scope=scope), timeout=10)
        assert got.memory.text == text
    then = recall_pb2.GetMemoryRequest(memory_id=ids[OLD], scope=scope, as_of=NOW - 5 * DAY)
    assert stub.GetMemory(then, timeout=10).memory.text == OLD


def held_files(process: int, root: Path) -> list[str]:
    """Deleted files of generations that a process has open or mapped."""
    folder, found = Path("/proc") / str(process), []
    for path in (folder / "fd").iterdir():
        # a descriptor may be closed during the listing
        with contextlib.suppress(FileNotFoundError):
            found.append((str(path.readlink()), path.stat().st_ino))
    for line in (folder / "maps").read_text().splitlines():
        _, _, _, _, inode, *name = line.split(maxsplit=5)
        found.append(("".join(name), int(inode)))
    # generations share files by hard links, so the file of a removed name may still exist
    there = {path.stat().st_ino for path in root.rglob("*")}
    return [name for name, inode in found if str(root) in name and "(deleted)" in name and inode not in there]


def refuse_and_retire(corpus: Any, service: Any) -> None:
    """Publish generations that the service refuses until retention has removed its current one."""
    for number in range(2, 5):
        corpus.add([{"name": f"newer {number}", "text": f"Something newer, number {number}."}])
        corpus.publish(checksum="f" * 64)
    service.wait_for(lambda at: "generation_refused" in at.log.read_text())
    assert retire(corpus.root, now=datetime.now(UTC), keep=3, min_age_seconds=0) == [1]
    assert not folder_of(corpus.root, 1).exists()


def test_a_generation_outlives_its_folder_and_is_let_go_with_the_swap(corpus: Any, start: Any) -> None:
    """Retention removes the current generation: all calls are answered, and the next swap frees the disk."""
    ids = fill(corpus)
    service = start(corpus.root)
    service.wait_for(lambda at: at.status().generation == 1)
    refuse_and_retire(corpus, service)
    assert_answers(service, ids)
    assert held_files(service.process.pid, corpus.root)
    corpus.publish()
    service.wait_for(lambda at: at.status().generation == 5)
    service.wait_for(lambda at: not held_files(at.process.pid, corpus.root))


def test_a_generation_goes_with_its_last_request(corpus: Any, models_dir: Path, tmp_path: Path) -> None:
    """No reference cycle of a recall keeps it open: an idle process may not collect cycles for hours."""
    fill(corpus)
    profiles = {name: one for name, one in load_profiles().items() if not one.rerank.late_interaction_model}
    current = CurrentGeneration(
        corpus.root, models_dir, scratch=tmp_path / "scratch", profile=profiles["helix"]
    )
    assert current.refresh()
    gc.collect()
    gc.disable()
    try:
        with ThreadPoolExecutor(8) as pool, current.lease() as served:
            for name, profile in profiles.items():
                for as_of in (None, NOW - 5 * DAY):
                    asked = Query(
                        "who keeps the archive key", Selection("acme", as_of=as_of), NOW, NOW, profile=name
                    )
                    asked = replace(asked, never_skip=True, explain=True, expand_context="session")
                    lanes = dict.fromkeys(LANES, pool)
                    context = RecallContext.of(asked, served, profile)
                    explained(recall(context, lanes=lanes, channel_deadline_seconds=30), context)
            del context
            kept = [weakref.ref(served.generation.vectors), weakref.ref(served.generation.lexicon)]
            del served
        corpus.publish()
        assert current.refresh()
        assert [one() for one in kept] == [None, None]
    finally:
        gc.enable()
        current.close()


@pytest.mark.long
def test_a_read_only_mount_serves_what_the_writer_removed(corpus: Any, start: Any, tmp_path: Path) -> None:
    """The data folder is a read-only mount, as in another container."""
    mount = tmp_path / "mounted"
    mount.mkdir()
    mounting = f"mount --bind {corpus.root} {mount} && mount -o remount,bind,ro {mount}"
    inside = ("unshare", "--map-root-user", "--mount", "sh", "-c")
    tried = subprocess.run([*inside, f"{mounting} && ! touch {mount}/x"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("this machine allows no mount in a namespace of its own")
    ids = fill(corpus)
    wrapper = (*inside, f'{mounting} && exec "$@"', "sh")
    service = start(mount, wrapper=wrapper, HELIX_QUERY_CACHE_DIR=str(tmp_path / "cache"))
    service.wait_for(lambda at: at.status().generation == 1)
    refuse_and_retire(corpus, service)
    assert_answers(service, ids)


def replaced(path: Path, body: bytes) -> None:
    """Replace the content of a name; hard links of other generations keep theirs."""
    path.unlink()
    path.write_bytes(body)


def vouch(folder: Path) -> None:
    """Write the manifest of a generation for its present files."""
    manifest = Manifest.read(folder)
    files = tuple(
        entry.model_copy(
            update={
                "size": (folder / entry.path).stat().st_size,
                "sha256": hashlib.sha256((folder / entry.path).read_bytes()).hexdigest(),
            }
        )
        for entry in manifest.files
    )
    replaced(folder / MANIFEST_NAME, manifest.model_copy(update={"files": files}).model_dump_json().encode())


def fails_verification(folder: Path) -> None:
    """Truncate all files of the vector table; their checksums are wrong then."""
    for path in (folder / "memories.lance").rglob("*.lance"):
        replaced(path, path.read_bytes()[:-7])


def fails_to_open(folder: Path) -> None:
    """Right checksums, but a lexicon that cannot be opened after the vector table was."""
    replaced(folder / "lexicon" / "meta.json", b"{}")
    vouch(folder)


def fails_when_asked(folder: Path) -> None:
    """Right checksums, and everything opens, but rows of the vector table cannot be read."""
    for path in (folder / "memories.lance" / "data").glob("*.lance"):
        body = path.read_bytes()
        replaced(path, bytes(len(body) // 2) + body[len(body) // 2 :])
    vouch(folder)


@pytest.mark.long
@pytest.mark.parametrize("broken", [fails_verification, fails_to_open, fails_when_asked])
def test_a_refused_generation_does_not_touch_the_one_that_is_served(
    corpus: Any, start: Any, tmp_path: Path, broken: Callable[[Path], None]
) -> None:
    """A generation may be refused at any step, and also after its folder is removed."""
    ids = fill(corpus)
    # another root, so that CURRENT names the second generation only after it is damaged
    served = tmp_path / "served"
    served.mkdir()
    (served / "generations").symlink_to(corpus.root / "generations")
    (served / "CURRENT").write_text("1\n")
    service = start(served)
    service.wait_for(lambda at: at.status().generation == 1)
    corpus.add([{"name": "newer", "text": "Something newer."}])
    corpus.publish()
    broken(folder_of(corpus.root, 2))
    (served / "CURRENT").write_text("2\n")
    service.wait_for(lambda at: "generation_refused" in at.log.read_text())
    assert_answers(service, ids)
    shutil.rmtree(folder_of(corpus.root, 2))
    assert_answers(service, ids)
