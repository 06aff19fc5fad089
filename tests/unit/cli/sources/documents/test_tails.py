"""Further documents of a large file that has shrunk."""

import json
import zipfile
from collections import Counter
from pathlib import Path

from helix_cli.commands.import_files import _counted
from helix_cli.sources.discover import discover
from helix_cli.sources.documents.tails import Tails
from helix_memory.events import DocumentEvent
from helix_shared.sources.fitting import TEXT_BYTES
from helix_shared.sources.items import SourceScope
from helix_shared.sources.source_event import SourceEvent

SCOPE = SourceScope("acme", user_id="ada")


def imported(path: Path, home: Path, *, scope: SourceScope = SCOPE) -> list[tuple[str, bool]]:
    """Id of each document that is published, and whether it is deleted."""
    tails = Tails(home, scope)
    items = _counted(discover([path]).sources, scope, Counter(), [], tails)
    made = [item.event for item in items if isinstance(item, SourceEvent)]
    tails.save()
    return [(one.document_id, one.deleted) for one in made if isinstance(one, DocumentEvent)]


def test_documents_that_a_file_no_longer_has_are_deleted_once(tmp_path: Path) -> None:
    """Nothing replaces them; those of another user stay."""
    path, home = tmp_path / "log.txt", tmp_path / "home"
    paragraph = "The kiln reaches 1200 degrees.\n\n" * (TEXT_BYTES // 40)
    path.write_text(paragraph * 3)
    first = imported(path, home)
    assert [name for name, _ in first[:2]] == [
        "tmp/log.txt".replace("tmp", tmp_path.name),
        f"{first[0][0]}#2",
    ]
    path.write_text("The kiln is sold.")
    assert imported(path, home, scope=SourceScope("acme", user_id="bob")) == [(first[0][0], False)]
    assert imported(path, home) == [(first[0][0], False), *((name, True) for name, _ in first[1:])]
    path.write_text("The kiln is sold!")
    assert imported(path, home) == [(first[0][0], False)]


def test_a_file_that_cannot_be_read_now_loses_nothing(tmp_path: Path) -> None:
    """It is not known to be smaller."""
    path, home = tmp_path / "log.txt", tmp_path / "home"
    path.write_text("The kiln reaches 1200 degrees.\n\n" * (TEXT_BYTES // 20))
    count = len(imported(path, home))
    path.write_bytes(b"\xff\xff broken")
    assert imported(path, home) == []
    path.write_text("The kiln is sold.")
    assert len(imported(path, home)) == count


def _bank(path: Path, *texts: str, fact: object = "Ice moves.") -> None:
    """The archive of a bank of Hindsight: documents, each with a fact."""
    facts = [{"text": fact, "fact_type": "world", "mentioned_at": "2025-04-10T12:00:00Z"}]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"schema_version": 1, "source_bank_id": "kilns"}))
        for number, text in enumerate(texts):
            document = {"id": f"d{number}", "original_text": text, "facts": facts}
            archive.writestr(f"documents/{number:06}.json", json.dumps(document))


def test_texts_of_an_export_that_have_shrunk_lose_their_last_documents(tmp_path: Path) -> None:
    """Each of them, and a large note of basic-memory; what was not read whole loses nothing."""
    home, long = tmp_path / "home", "The kiln reaches 1200 degrees.\n\n" * (TEXT_BYTES // 25)
    path = tmp_path / "bank.zip"
    _bank(path, "a", long, "b", long)
    first = imported(path, home)
    tails = [name for name, _ in first if "#" in name]
    assert {name.partition("#")[0] for name in tails} == {"hindsight:d1", "hindsight:d3"}
    _bank(path, "a", "b", "c", long)
    ones = [f"hindsight:d{number}" for number in range(4)]
    deleted = [(name, True) for name in tails if name.startswith("hindsight:d1#")]
    assert deleted
    again = imported(path, home)
    assert [one for one in again if one[1]] == deleted
    _bank(path, "a", "b", "c", "d", fact=7)
    assert imported(path, home) == [(name, False) for name in ones]
    _bank(path, "a", "b", "c", "d")
    assert imported(path, home)[4:] == [(name, True) for name in tails if name.startswith("hindsight:d3#")]
    path = tmp_path / "note.md"
    front = "---\ntitle: Kiln\ntype: note\npermalink: kiln\n---\n"
    path.write_text(front + long)
    count = len(imported(path, home))
    path.write_text(f"{front}It is sold.\n")
    assert imported(path, home) == [("kiln", False), *((f"kiln#{n}", True) for n in range(2, count + 1))]
