"""The search for residue in the files of a home."""

from pathlib import Path

from helix_cli.residue.canaries import Canaries
from helix_cli.residue.files import residue_in_files
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter


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
