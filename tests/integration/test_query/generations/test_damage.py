"""Every file of a generation, damaged in every way: nothing of it is served, and the one before answers."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_query.generations.current import CurrentGeneration
from helix_query.profile.files import load_profiles
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.errors import CorruptArtifactError

pytestmark = pytest.mark.integration


def truncate(file: Path, _: Path) -> None:
    """Leave the first half."""
    body = file.read_bytes()
    replace_with(file, body[: len(body) // 2] if len(body) > 1 else body + b"x")


def flip(file: Path, _: Path) -> None:
    """Flip one bit in the middle; the size stays."""
    body = bytearray(file.read_bytes() or b"\0")
    body[len(body) // 2] ^= 1
    replace_with(file, bytes(body))


def remove(file: Path, _: Path) -> None:
    """Remove the file."""
    file.unlink()


def make_folder(file: Path, _: Path) -> None:
    """Put a folder of the same name in its place."""
    file.unlink()
    file.mkdir()


def swap(file: Path, other: Path) -> None:
    """Put the content of another file in its place."""
    replace_with(file, other.read_bytes())


def replace_with(file: Path, body: bytes) -> None:
    """Write a new file, so that others with a hard link to the old one keep theirs."""
    file.unlink()
    file.write_bytes(body)


WAYS: tuple[Callable[[Path, Path], None], ...] = (truncate, flip, remove, make_folder, swap)


def linked_copy(root: Path, source: int, number: int) -> Path:
    """A copy of a generation under another number, and CURRENT that names it."""
    folder = folder_of(root, number)
    shutil.copytree(folder_of(root, source), folder, copy_function=os.link)
    manifest = Manifest.read(folder).model_copy(update={"generation": number})
    replace_with(folder / MANIFEST_NAME, manifest.sealed())
    (root / "CURRENT.new").write_text(f"{number}\n")
    (root / "CURRENT.new").replace(root / "CURRENT")
    return folder


def files_of(folder: Path) -> list[str]:
    """Every file of a generation, the manifest included."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def current(corpus: Any, models_dir: Path, tmp_path: Path) -> Iterator[CurrentGeneration]:
    """Serves generation 2."""
    corpus.add([{"text": "The harbour has nine gates.", "entities": ["Harbour"]}])
    corpus.publish()
    profile = load_profiles()["helix"]
    serving = CurrentGeneration(corpus.root, models_dir, scratch=tmp_path / "scratch", profile=profile)
    assert serving.refresh()
    corpus.add([{"text": f"Gate {n} is open.", "entities": [f"Gate {n}"]} for n in range(3)])
    corpus.publish()
    assert serving.refresh()
    yield serving
    serving.close()


def test_no_damaged_file_of_any_kind_is_served(corpus: Any, current: CurrentGeneration) -> None:
    """Refused before any engine opens it; a whole copy under the next number is served."""
    names = files_of(folder_of(corpus.root, 2))
    assert {Path(name).suffix for name in names} >= {
        ".lance",
        ".manifest",
        ".npy",
        ".arrow",
        ".jsonl",
        ".term",
    }
    number = 10
    for way in WAYS:
        for place, name in enumerate(names):
            number += 1
            folder = linked_copy(corpus.root, 2, number)
            way(folder / name, folder / names[place - 1])
            assert not current.refresh(), (way.__name__, name)
            with current.lease() as snapshot:
                assert snapshot.number == 2, (way.__name__, name)
            shutil.rmtree(folder)
    assert number >= 10 + 5 * 25
    linked_copy(corpus.root, 2, number + 1)
    assert current.refresh(), "the control: an undamaged copy"


def test_no_bit_of_a_manifest_may_change(corpus: Any, current: CurrentGeneration) -> None:
    """It holds the checksums of all other files, and a checksum of itself."""
    number = 10
    manifest = folder_of(corpus.root, 2) / MANIFEST_NAME
    slots = [
        manifest.read_bytes().index(key) + len(key) + 3
        for key in (b'"generation"', b'"applied_sequence"', b'"epoch"', b'"published_at"')
    ]
    for place in slots:
        number += 1
        folder = linked_copy(corpus.root, 2, number)
        body = bytearray((folder / MANIFEST_NAME).read_bytes())
        body[place] ^= 1
        replace_with(folder / MANIFEST_NAME, bytes(body))
        assert not current.refresh(), place
    shutil.copytree(folder_of(corpus.root, 2), folder_of(corpus.root, number + 1), copy_function=os.link)
    (corpus.root / "CURRENT").write_text(f"{number + 1}")
    assert not current.refresh(), "a generation under another number"


@pytest.mark.parametrize("name", ["extra.bin", "signals/extra.npy"])
def test_a_file_that_the_manifest_does_not_name_is_refused(
    corpus: Any, current: CurrentGeneration, name: str
) -> None:
    """An engine could read it."""
    (linked_copy(corpus.root, 2, 11) / name).write_bytes(b"x")
    assert not current.refresh()


@pytest.mark.parametrize("text", ["", "twelve", "\0", "999"])
def test_a_damaged_pointer_changes_nothing(corpus: Any, current: CurrentGeneration, text: str) -> None:
    """CURRENT that holds no number, or that of no generation."""
    (corpus.root / "CURRENT").write_text(text)
    try:
        assert not current.refresh()
    except CorruptArtifactError:
        assert text != "999"
    with current.lease() as snapshot:
        assert snapshot.number == 2
    assert MANIFEST_NAME in files_of(folder_of(corpus.root, 2))
