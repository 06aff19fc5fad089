"""A file system in an image, and copies of the image as a power cut leaves it.

What was not synced is in the memory of the kernel alone, and so in no copy. The journal is committed by syncs
alone (`commit=300`). For the moment of a copy the processes that write are stopped: a copy takes a while, and
no disk ever held the first half of one moment and the second half of another. An fsync in progress is
finished before its process stops. A disk that lies about what it has written is not modelled.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from helix_memory.transport.polling import poll

IMAGE_BYTES: Final = 4 * 1024**3
"""NATS takes three quarters of a disk, and all limits of streams together must fit; most stays empty."""
OPTIONS: Final = "loop,commit=300"
PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
STOP_SECONDS: Final = 20.0


def _run(*command: str | Path) -> str:
    return subprocess.run(
        [*map(str, command)], check=True, capture_output=True, text=True, env=os.environ | {"PATH": PATH}
    ).stdout


@contextmanager
def mounted(image: Path, at: Path) -> Iterator[Path]:
    """The file system of an image, whose journal is replayed as after a power cut."""
    at.mkdir(parents=True)
    _run("mount", "-o", OPTIONS, image, at)
    try:
        yield at
    finally:
        # lazily: this process may still have files of a generation mapped
        _run("umount", "--lazy", at)
        at.rmdir()


def new_image(folder: Path, *, name: str = "disk", size: int = IMAGE_BYTES) -> Path:
    """An empty file system; skips the test where none can be mounted."""
    image = folder / f"{name}.img"
    with image.open("wb") as file:
        file.truncate(size)
    try:
        _run("mkfs.ext4", "-q", image)
        with mounted(image, folder / "trial"):
            pass
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or error
        pytest.skip(f"a file system in an image cannot be mounted here: {said}")
    return image


@contextmanager
def stopped(pids: Iterable[int], at: Path) -> Iterator[None]:
    """Inside, no process of `pids` runs, and nothing is on its way to the disk mounted at `at`."""
    running = [pid for pid in pids if pid]
    for pid in running:
        os.kill(pid, signal.SIGSTOP)
    try:
        device = _run("findmnt", "-n", "-o", "SOURCE", at).strip()
        inflight = Path("/sys/block") / Path(device).name / "inflight"
        for _ in poll(STOP_SECONDS, every_seconds=0.005):
            if all(map(_is_stopped, running)) and not any(map(int, inflight.read_text().split())):
                break
        else:
            raise AssertionError("the processes do not stop")
        yield
    finally:
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        states = [(one / "stat").read_text().rpartition(")")[2].split()[0] for one in threads]
    except OSError:  # it has ended
        return True
    return all(state in "TZX" for state in states)


def copy_of(image: Path, to: Path) -> None:
    """Copy an image; what is empty takes no room."""
    _run("cp", "--sparse=always", image, to)


@contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """A folder for images: in memory where there is such a file system, since copies must be fast."""
    memory = Path("/dev/shm")  # noqa: S108
    folder = (memory if memory.is_dir() else otherwise) / f"helix-power-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
