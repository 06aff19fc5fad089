"""The search for residue in the files of a home."""

import gzip
import json
import os
import random
import tracemalloc
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from helix_cli.residue import files
from helix_cli.residue.canaries import Canaries
from helix_cli.residue.files import residue_in_files
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter
from helix_shared.artifacts.vectors.files import TABLE, TABLE_FOLDER
from helix_shared.event_log.export_file import ExportHeader, ExportWriter
from helix_shared.event_log.record import EventRecord


def test_a_searched_generation_has_no_other_file_than_before(tmp_path: Path) -> None:
    """The lock file of the engine must not stay: a file that the manifest does not name has it refused."""
    folder = tmp_path / "data" / "generations" / "000000000001" / "lexicon"
    writer = LexiconWriter.create(folder)
    plain = {"owner": "", "audience": ("*",), "type": "episodic", "project_id": ""}
    entry = LexiconEntry(
        ordinal=0,
        tenant_id="acme",
        session_id="s",
        event_at=0,
        text="The safe opens with plughplover.",
        **plain,
    )
    writer.upsert([entry])
    writer.commit()
    writer.close()
    for lock in folder.glob(".*.lock"):
        lock.unlink()
    before = sorted(path.name for path in folder.iterdir())
    found = residue_in_files(tmp_path, Canaries.of_words(["plughplover"])).counts
    assert any("lexicon terms of text" in place for place in found), found
    assert sorted(path.name for path in folder.iterdir()) == before


TEXT = 'The "safe"\nopens with Grüße 4711.'


def test_an_export_in_the_home_is_searched(tmp_path: Path) -> None:
    """Its lines hold the JSON of events as texts of JSON, so quotes and line breaks are escaped twice."""
    for number, is_ascii in enumerate((True, False)):
        body = json.dumps({"text": TEXT}, ensure_ascii=is_ascii).encode()
        record = EventRecord(1, "helix.v1.events.acme.-.memory", datetime.now(UTC), body)
        with (tmp_path / f"{number}.jsonl").open("wb") as target:
            ExportWriter(target, ExportHeader("0.1.0", "m", "r", ["acme"], events=1)).add("event", record)
    found = residue_in_files(tmp_path, Canaries.of_rows([{"text": TEXT, "vector": [0.0]}]))
    assert dict(found.counts) == {"0.jsonl": 1, "1.jsonl": 1}


OTHERS = 'if a < b && c > d: open /srv/café 🚢 "x"\n'


@pytest.mark.parametrize("depth", [1, 2])
def test_a_text_is_found_in_the_json_of_any_publisher(tmp_path: Path, depth: int) -> None:
    """Streams and archive have the bytes of the publisher, an export has them in JSON of its own."""
    go = json.dumps(OTHERS, ensure_ascii=False)
    for character in "<>&":
        go = go.replace(character, f"\\u{ord(character):04x}")
    php = json.dumps(OTHERS).replace("/", r"\/")
    dotnet = "".join(c if (c.isalnum() and c.isascii()) or c in " :" else _number(c) for c in OTHERS)
    for name, spelled in (("go", go), ("php", php), ("dotnet", f'"{dotnet}"')):
        assert json.loads(spelled) == OTHERS
        body = f'{{"text":{spelled}}}'
        (tmp_path / name).write_text(body if depth == 1 else json.dumps({"body": body}))
    found = residue_in_files(tmp_path, Canaries.of_rows([{"text": OTHERS, "vector": [0.0]}]))
    assert dict(found.counts) == {"dotnet": 1, "go": 1, "php": 1}
    (tmp_path / "go").write_text(r'{"text": "if a \u003c b, \u00e9 \ud83d \/"}')
    (tmp_path / "php").write_bytes(bytes(range(256)) + rb"\u12 \\u003c \u")
    found = residue_in_files(tmp_path, Canaries.of_rows([{"text": OTHERS, "vector": [0.0]}]))
    assert dict(found.counts) == {"dotnet": 1}


def _number(character: str) -> str:
    """A character in JSON by the number of each of its units of UTF-16, in capital digits."""
    units = np.frombuffer(character.encode("utf-16-le"), "<u2")
    return "".join(f"\\u{unit:04X}" for unit in units)


def test_a_data_folder_on_another_disk_is_searched(tmp_path: Path) -> None:
    """Links to folders and files are followed, each folder once."""
    home, disk = tmp_path / "home", tmp_path / "disk"
    (disk / "archive").mkdir(parents=True)
    home.mkdir()
    (disk / "archive" / "1.log").write_text("plughplover")
    (tmp_path / "kept").write_text("plughplover")
    (home / "data").symlink_to(disk)
    (disk / "again").symlink_to(home)
    (home / "note").symlink_to(tmp_path / "kept")
    found = residue_in_files(home, Canaries.of_words(["plughplover"]))
    assert dict(found.counts) == {"data/archive/1.log": 1, "note": 1}


def test_what_cannot_be_read_is_named_and_does_not_end_the_search(tmp_path: Path) -> None:
    """A table without its files and a file that the disk refuses are not clean: nobody has searched them."""
    folder = tmp_path / "data" / "generations" / "000000000001"
    lancedb.connect(folder).create_table(TABLE, pa.table({"text": ["plughplover"]}))
    canaries = Canaries.of_words(["plughplover"])
    whole = residue_in_files(tmp_path, canaries)
    assert any("column text" in place for place in whole.counts)
    assert not whole.unread
    for file in (folder / TABLE_FOLDER / "data").iterdir():
        file.unlink()
    (tmp_path / "note").write_text("plughplover")
    found = residue_in_files(tmp_path, canaries)
    assert dict(found.counts) == {"note": 1}
    assert list(found.unread) == [f"data/generations/000000000001/{TABLE_FOLDER}"]
    assert found


def test_a_file_or_folder_that_the_disk_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing is found: `--verify` must not call such a home clean."""
    (tmp_path / "refused").write_text("plughplover")
    (tmp_path / "closed").mkdir()
    canaries, read, listed = Canaries.of_words(["plughplover"]), Path.open, os.scandir

    def refuse_file(path: Path, *arguments: Any) -> Any:
        if path.name == "refused":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path, *arguments)

    def refuse_folder(path: str) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "open", refuse_file)
    monkeypatch.setattr(os, "scandir", refuse_folder)
    found = residue_in_files(tmp_path, canaries)
    assert not found.counts
    assert set(found.unread) == {"refused", "closed"}
    assert found


def test_what_is_removed_meanwhile_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retention goes on while `helix erase --verify` searches."""
    (tmp_path / "going").write_text("plughplover")

    def remove(path: Path, *_: Any) -> Any:
        path.unlink()
        raise FileNotFoundError(2, "No such file", str(path))

    monkeypatch.setattr(Path, "open", remove)
    assert not residue_in_files(tmp_path, Canaries.of_words(["plughplover"]))


def test_each_of_thousands_of_texts_is_found_wherever_it_stands(tmp_path: Path) -> None:
    """As it is, inside JSON, in lower case and as the bytes of its vector; the others are in no file."""
    dice = np.random.default_rng(7)
    rows: list[dict[str, Any]] = [
        {"text": f'Ticket {number}: "Grüße" from rack {number * 7919}.', "vector": dice.normal(size=32)}
        for number in range(4000)
    ]
    canaries = Canaries.of_rows(rows)
    (tmp_path / "kept").write_text("\n".join(f"Ticket {number}: kept." for number in range(4000)))
    assert not residue_in_files(tmp_path, canaries)
    planted = [str(row["text"]) for row in rows[::4]]
    (tmp_path / "text").write_text("".join(planted))
    (tmp_path / "json").write_text(json.dumps(planted))
    (tmp_path / "lower").write_text("".join(planted).lower())
    (tmp_path / "vectors").write_bytes(b"".join(row["vector"].astype("<f4").tobytes() for row in rows[::4]))
    found = residue_in_files(tmp_path, canaries)
    assert dict(found.counts) == dict.fromkeys(("text", "json", "lower", "vectors"), len(planted))


def test_a_file_is_searched_in_parts(tmp_path: Path) -> None:
    """The vectors of a million memories are one file; what lies across two parts is found, and once."""
    path, part = tmp_path / "vectors", files._PART_BYTES
    word, go = b"plughplover", rb"if a \u003c b and c \u003e d"
    with path.open("wb") as target:
        for at, content in ((part - 5, word), (part + 100, word), (2 * part - 20, go), (8 * part, word)):
            target.seek(at)
            target.write(content)
    canaries = Canaries.of_words([word.decode(), "if a < b and c > d"])
    tracemalloc.start()
    found = residue_in_files(tmp_path, canaries)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert dict(found.counts) == {"vectors": 4}
    assert most < 5 * part


def test_a_compressed_file_is_searched_to_its_end(tmp_path: Path) -> None:
    """Also one of several files, one after the other, and one that is cut; another file ends nothing."""
    whole = gzip.compress(b"plughplover")
    (tmp_path / "several.gz").write_bytes(gzip.compress(bytes(40 << 20)) + whole + whole)
    (tmp_path / "cut.gz").write_bytes(whole + gzip.compress(random.randbytes(100_000))[:50_000])
    (tmp_path / "other").write_bytes(b"\x1f\x8b plughplover")
    (tmp_path / "short").write_bytes(b"\x78")
    (tmp_path / "whole.zlib").write_bytes(zlib.compress(b"plughplover " * 3) + b"rubbish")
    found = residue_in_files(tmp_path, Canaries.of_words(["plughplover"]))
    assert dict(found.counts) == {"several.gz": 2, "cut.gz": 1, "other": 1, "whole.zlib": 3}
