"""Further documents of a large file that has shrunk."""

from collections import Counter
from pathlib import Path

from helix_cli.commands.import_files import _counted
from helix_cli.sources.discover import discover
from helix_cli.sources.documents.tails import Tails
from helix_memory.events import DocumentEvent
from helix_shared.sources.fitting import TEXT_BYTES
from helix_shared.sources.items import Scope
from helix_shared.sources.source_event import SourceEvent

SCOPE = Scope("acme", user_id="ada")


def imported(path: Path, home: Path, *, scope: Scope = SCOPE) -> list[tuple[str, bool]]:
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
    assert imported(path, home, scope=Scope("acme", user_id="bob")) == [(first[0][0], False)]
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
