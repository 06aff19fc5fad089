"""The search for residue in the files of a home."""

from pathlib import Path

import lancedb
import pyarrow as pa

from helix_cli.residue.canaries import Canaries
from helix_cli.residue.files import residue_in_files
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter
from helix_shared.artifacts.vectors.files import TABLE, TABLE_FOLDER


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
    found = residue_in_files(tmp_path, Canaries.of_words(["plughplover"]))
    assert any("lexicon terms of text" in place for place in found), found
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_generation_that_is_removed_meanwhile_does_not_end_the_search(tmp_path: Path) -> None:
    """Retention goes on while `helix erase --verify` searches; what is still there is searched."""
    folder = tmp_path / "data" / "generations" / "000000000001"
    lancedb.connect(folder).create_table(TABLE, pa.table({"text": ["plughplover"]}))
    canaries = Canaries.of_words(["plughplover"])
    assert any("column text" in place for place in residue_in_files(tmp_path, canaries))
    for file in (folder / TABLE_FOLDER / "data").iterdir():
        file.unlink()
    (tmp_path / "note").write_text("plughplover")
    assert dict(residue_in_files(tmp_path, canaries)) == {"note": 1}
