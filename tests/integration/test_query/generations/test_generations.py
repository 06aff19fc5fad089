"""Loading, swapping and refusing generations; every reply comes from one generation."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from helix_query.generations.current import CurrentGeneration
from helix_query.profile.files import load_profiles
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.errors import TemporaryError

pytestmark = pytest.mark.integration


def marker(number: int) -> dict[str, Any]:
    """A memory that names the generation it was written for."""
    return {"name": "marker", "text": f"The release marker is number {number}."}


def serves(number: int) -> Callable[[Any], bool]:
    """Whether this generation answers."""
    return lambda service: service.status().generation == number


def damage(folder: Path, pattern: str) -> None:
    """Flip one bit in the middle of a file of the generation; hard links keep the old content."""
    victim = max(folder.rglob(pattern), key=lambda path: path.stat().st_size)
    body = bytearray(victim.read_bytes())
    body[len(body) // 2] ^= 1
    victim.unlink()
    victim.write_bytes(body)


def test_without_a_generation_the_service_says_so(corpus: Any, start: Any) -> None:
    """Health NOT_SERVING, recall UNAVAILABLE and status generation 0, until the first one is published."""
    service = start(corpus.root)
    service.wait_for(lambda at: at.health() == "NOT_SERVING")
    assert service.status().generation == 0
    with pytest.raises(grpc.RpcError) as caught:
        service.recall("anything")
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "no generation yet" in caught.value.details()
    assert "consolidation publishes the first one when it starts" in caught.value.details()
    corpus.add([marker(1)])
    corpus.publish()
    service.wait_for(lambda at: at.health() == "SERVING")
    assert service.recall("release marker").memories[0].memory.text == "The release marker is number 1."


def test_an_empty_generation_answers_nothing(corpus: Any, start: Any) -> None:
    """A generation without memories answers."""
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(serves(1))
    assert len(service.recall("anything at all").memories) == 0


@pytest.mark.long
def test_ten_swaps_under_load_fail_no_call_and_mix_no_reply(corpus: Any, start: Any) -> None:
    """Every reply has the marker of the generation it names, and generation numbers never decrease."""
    corpus.add([marker(1), *({"text": f"filler {number} about gardens"} for number in range(50))])
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(serves(1))
    stop = threading.Event()
    seen: list[list[int]] = [[], []]
    wrong: list[str] = []

    def load(mine: list[int]) -> None:
        while not stop.is_set():
            try:
                reply = service.recall("what is the release marker number")
            except grpc.RpcError as error:
                wrong.append(f"{error.code()} {error.details()}")
                continue
            texts = [found.memory.text for found in reply.memories]
            if f"The release marker is number {reply.generation}." not in texts or reply.degraded:
                wrong.append(f"generation {reply.generation}: {texts[:2]} {reply.degraded}")
            mine.append(reply.generation)

    threads = [threading.Thread(target=load, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    try:
        for number in range(2, 12):
            corpus.add([marker(number)])
            assert corpus.publish() == number
            service.wait_for(serves(number))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert all(mine == sorted(mine) for mine in seen)
    assert {number for mine in seen for number in mine} >= {2, 6, 10}


def announced(served: Path, corpus: Any, number: int) -> None:
    """Let CURRENT of `served` name a generation of the corpus."""
    served.mkdir(exist_ok=True)
    if not (served / "generations").exists():
        (served / "generations").symlink_to(corpus.root / "generations")
    (served / "CURRENT.new").write_text(f"{number}\n")
    (served / "CURRENT.new").replace(served / "CURRENT")


@pytest.mark.parametrize(
    "pattern",
    [
        "manifest.json",
        "*.lance",
        *(pytest.param(one, marks=pytest.mark.long) for one in ("*.term", "vector.npy", "indices.npy")),
    ],
)
def test_a_damaged_generation_is_refused_and_the_last_good_one_serves_on(
    corpus: Any, start: Any, tmp_path: Path, pattern: str
) -> None:
    """With one flipped bit in any store it is refused and logged; the next good one is swapped in."""
    served = tmp_path / "served"
    corpus.add([marker(1) | {"entities": ["Marker"]}])
    announced(served, corpus, corpus.publish())
    service = start(served)
    service.wait_for(serves(1))
    corpus.add([marker(2) | {"entities": ["Marker"]}, {"text": "another one", "entities": ["Marker"]}])
    damage(folder_of(corpus.root, corpus.publish()), pattern)
    announced(served, corpus, 2)
    service.wait_for(lambda at: "generation_refused" in at.log.read_text())
    assert service.recall("release marker").generation == 1
    assert service.health() == "SERVING"
    corpus.add([marker(3)])
    announced(served, corpus, corpus.publish())
    service.wait_for(serves(3))
    assert service.recall("release marker").memories[0].memory.text == "The release marker is number 3."
    assert service.log.read_text().count("generation_refused") == 1


def test_a_start_on_a_damaged_generation_falls_back_to_an_older_one(corpus: Any, start: Any) -> None:
    """At a start, an older good generation answers."""
    for number in (1, 2, 3):
        corpus.add([marker(number)])
        corpus.publish()
    damage(folder_of(corpus.root, 3), "*.lance")
    service = start(corpus.root)
    service.wait_for(serves(2))
    assert service.recall("release marker").memories[0].memory.text == "The release marker is number 2."


@pytest.mark.parametrize("text", ["", "twelve", "999"])
def test_a_start_with_a_damaged_pointer_serves_the_newest_sound_generation(
    corpus: Any, start: Any, text: str
) -> None:
    """CURRENT without a number is logged and counted; the generation that is published next is served."""
    for number in (1, 2, 3):
        corpus.add([marker(number)])
        corpus.publish()
    damage(folder_of(corpus.root, 3), "*.lance")
    (corpus.root / "CURRENT").write_text(text)
    service = start(corpus.root)
    service.wait_for(serves(2))
    assert service.health() == "SERVING"
    if text != "999":
        service.wait_for(lambda at: "CURRENT holds no number" in at.log.read_text())
    (corpus.root / "CURRENT").write_text("3")
    corpus.add([marker(4)])
    corpus.publish()
    service.wait_for(serves(4))


def test_the_newest_sound_generation_below_a_damaged_one_is_served(
    corpus: Any, start: Any, tmp_path: Path
) -> None:
    """Also one that was never CURRENT while the service looked."""
    served = tmp_path / "served"
    for number in (1, 2, 3):
        corpus.add([marker(number)])
        corpus.publish()
    announced(served, corpus, 1)
    service = start(served)
    service.wait_for(serves(1))
    damage(folder_of(corpus.root, 3), "*.lance")
    announced(served, corpus, 3)
    service.wait_for(serves(2))
    assert "generation_refused" in service.log.read_text()


def test_a_generation_of_another_model_is_not_served(corpus: Any, start: Any) -> None:
    """A generation of another model is refused; the log names both models."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(serves(1))
    corpus.add([marker(2)])
    corpus.publish(checksum="f" * 64)
    service.wait_for(lambda at: "generation_refused" in at.log.read_text())
    assert service.recall("release marker").generation == 1
    assert "f" * 64 in service.log.read_text()
    assert service.log.read_text().count("generation_refused") == 1


def test_an_epoch_never_goes_back(corpus: Any, start: Any) -> None:
    """A generation of a writer that lost its lease is refused."""
    corpus.add([marker(1)])
    corpus.publish(epoch=5)
    service = start(corpus.root)
    service.wait_for(serves(1))
    corpus.add([marker(2)])
    corpus.publish(epoch=4)
    service.wait_for(lambda at: "generation_refused" in at.log.read_text())
    assert service.status().generation == 1


def test_a_leased_generation_lives_until_its_last_request_ends(
    corpus: Any, models_dir: Path, tmp_path: Path
) -> None:
    """The old one is closed with its last lease, not at the swap; new leases get the new one."""
    scratch = tmp_path / "scratch"
    current = CurrentGeneration(corpus.root, models_dir, scratch=scratch, profile=load_profiles()["helix"])
    assert not current.refresh()
    with pytest.raises(TemporaryError, match="no generation yet"), current.lease():
        pass
    corpus.add([marker(1)])
    corpus.publish()
    assert current.refresh()
    with current.lease() as old:
        corpus.add([marker(2)])
        corpus.publish()
        assert current.refresh()
        assert not current.refresh()
        with current.lease() as new:
            assert (old.number, new.number) == (1, 2)
        assert len(list(scratch.glob("lexicon-*"))) == 2
        assert len(old.generation.lexicon.search("marker", Selection("acme"), limit=5)) == 1
    assert sorted(path.name.partition("-")[0] for path in scratch.iterdir()) == ["lexicon", "memories.lance"]
    current.close()
    assert list(scratch.iterdir()) == []


def test_sigterm_ends_the_service_in_order(corpus: Any, start: Any) -> None:
    """Exit code 0, and no error in the log."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(serves(1))
    assert service.stop() == 0
    assert "Traceback" not in service.log.read_text()


def test_calls_beyond_the_bound_are_refused_at_once(corpus: Any, start: Any) -> None:
    """With one place and many callers, some are answered and the others get RESOURCE_EXHAUSTED."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_IN_FLIGHT="1")
    service.wait_for(serves(1))
    codes: list[str] = []

    def ask() -> None:
        try:
            service.recall("release marker")
            codes.append("OK")
        except grpc.RpcError as error:
            codes.append(error.code().name)

    threads = [threading.Thread(target=ask) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(codes) == {"OK", "RESOURCE_EXHAUSTED"}
    assert service.recall("release marker").memories


@pytest.mark.parametrize(
    ("name", "value"),
    [("HELIX_QUERY_TREADS", "4"), ("HELIX_QUERY_THREADS", "0"), ("HELIX_QUERY_PROFILES_DIR", "/absent")],
)
def test_a_wrong_setting_stops_the_start(tmp_path: Path, name: str, value: str) -> None:
    """Exit code 78; the message names the setting."""
    environment = os.environ | {"HELIX_QUERY_DATA_DIR": str(tmp_path), name: value}
    ended = subprocess.run(
        [sys.executable, "-m", "helix_query"], env=environment, capture_output=True, timeout=60, check=False
    )
    assert ended.returncode == 78
    assert (value if value == "/absent" else name) in ended.stderr.decode()


def rewrite(path: Path, *, later: bool) -> None:
    """Flip a bit in place: same inode and size, and the same or a later modification time."""
    status = path.stat()
    with path.open("r+b") as target:
        body = bytearray(target.read())
        body[len(body) // 2] ^= 1
        target.seek(0)
        target.write(body)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + int(later)))


def test_a_restart_reads_only_files_written_since_they_were_verified(
    corpus: Any, models_dir: Path, tmp_path: Path
) -> None:
    """A listed file of the same identity is not hashed; without the list all files are."""
    verified_files = tmp_path / "cache" / "verified.json"

    def serves_after_start(at: Path | None) -> bool:
        current = CurrentGeneration(
            corpus.root,
            models_dir,
            scratch=tmp_path / "s",
            profile=load_profiles()["helix"],
            verified_files=at,
        )
        try:
            return current.refresh()
        finally:
            current.close()

    corpus.add([marker(1)])
    corpus.publish()
    assert serves_after_start(verified_files)
    state = folder_of(corpus.root, 1) / "lexicon" / ".managed.json"
    rewrite(state, later=False)
    assert serves_after_start(verified_files)
    assert not serves_after_start(None)
    damaged = verified_files.read_bytes()[:-3]
    verified_files.write_bytes(damaged)
    assert not serves_after_start(verified_files)
    rewrite(state, later=False)
    assert serves_after_start(verified_files)
    rewrite(state, later=True)
    assert not serves_after_start(verified_files)
