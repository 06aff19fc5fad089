import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.sources.discover import discover
from helix_cli.sources.documents.document import document_items
from helix_cli.sources.documents.markdown import contents, markdown_content, sections, title_of
from helix_cli.sources.read import read_source
from helix_memory import events, limits
from helix_shared.sources.items import Item, SkippedPart, SourceScope
from helix_shared.sources.source_event import Refusal, SourceEvent

SCOPE = SourceScope("acme", project_id="web")


def documents(path: Path) -> list[events.DocumentEvent]:
    """The documents of a path."""
    found = []
    for source in discover([path]).sources:
        for item in read_source(source, SCOPE):
            assert isinstance(item, SourceEvent), item
            assert isinstance(item.event, events.DocumentEvent)
            found.append(item.event)
    return found


def file(folder: Path, name: str, text: str) -> Path:
    """A file with a set modification time."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1_790_000_000, 1_790_000_000))
    return path


def test_a_file_becomes_one_whole_document(tmp_path: Path) -> None:
    """The id starts with the folder, the time is that of the file, the text is unchanged."""
    text = "---\ntitle: 'First steps'\n---\n# Start\n\nInstall it.\n"
    file(tmp_path, "docs/guide/start.md", text)
    (document,) = documents(tmp_path / "docs")
    assert (document.document_id, document.title) == ("docs/guide/start.md", "First steps")
    assert (document.body, document.media_type, document.project_id) == (text, "text/markdown", "web")
    assert document.occurred_at is not None
    assert document.occurred_at.timestamp() == 1_790_000_000
    assert document.source_uri.endswith("/docs/guide/start.md")


def test_a_file_alone_has_the_id_it_has_in_its_folder(tmp_path: Path) -> None:
    """Importing a file alone replaces the document from its folder."""
    path = file(tmp_path, "docs/start.md", "text")
    assert [d.document_id for d in documents(path)] == [d.document_id for d in documents(tmp_path / "docs")]


def test_importing_again_has_the_same_ids_and_a_change_has_new_ones(tmp_path: Path) -> None:
    """The event id follows from name, content and time of change."""
    path = file(tmp_path, "a.md", "one")
    first, again = documents(path)[0].event_id, documents(path)[0].event_id
    path.write_text("two")
    changed = documents(path)[0].event_id
    assert first == again
    assert first != changed


def test_a_file_changed_and_changed_back_is_a_new_event(tmp_path: Path) -> None:
    """Otherwise the stream would drop it as a duplicate, and the version between would remain."""
    path = file(tmp_path, "a.md", "one")
    first = documents(path)[0].event_id
    os.utime(path, (1_790_000_500, 1_790_000_500))
    assert first != documents(path)[0].event_id


def test_titles_come_from_front_matter_then_the_highest_heading_then_the_name() -> None:
    """A `#` in a code block is a comment, not a title."""
    assert title_of("---\ntitle: A\n---\n# B\n", "c") == "A"
    assert title_of("```\n# no\n```\n## Two\n# One #\n", "c") == "One"
    assert title_of("## Two\n", "c") == "Two"
    assert title_of("plain", "c") == "c"


def test_sections_begin_at_headings_outside_code_blocks() -> None:
    """Text before the first heading is a section without heading; ~~~ does not close ```."""
    text = "intro\n# A\ntext\n```sh\n# comment\n~~~\n```\n### deep\n## B\nlast"
    found = sections(text, levels=2)
    assert [s.heading for s in found] == ["", "A", "B"]
    assert found[1].text == "text\n```sh\n# comment\n~~~\n```\n### deep\n"


def test_a_file_over_one_text_is_cut_into_parts_at_its_headings() -> None:
    """Two sections of 60,000 characters become one document of two parts."""
    text = f"# A\n{'a' * 60_000}\n# B\n{'b' * 60_000}\n"
    (content,) = contents(text)
    assert [(p["heading"], len(p["text"])) for p in content["parts"]] == [("A", 60_001), ("B", 60_001)]


def test_a_file_over_one_event_becomes_several_documents_and_loses_nothing(tmp_path: Path) -> None:
    """A million characters: the ids are numbered, each event fits, and no text is lost."""
    text = "".join(f"# Section {n}\n{'word ' * 2_000}\n" for n in range(100))
    found = documents(file(tmp_path, "big.md", text))
    name = f"{tmp_path.name}/big.md"
    assert [d.document_id for d in found] == [name, *(f"{name}#{n}" for n in range(2, len(found) + 1))]
    assert all(len(events.encode_event(d)) < limits.EVENT_BYTES for d in found)
    parts = [part for d in found for part in d.parts]
    assert [p.heading for p in parts] == [f"Section {n}" for n in range(100)]
    assert "".join(f"# {p.heading}\n{p.text}" for p in parts) == text


def test_what_is_no_text_is_refused_and_an_empty_file_is_counted(tmp_path: Path) -> None:
    """Neither stops the import."""
    (tmp_path / "bad.md").write_bytes(b"ok \xff")
    (tmp_path / "empty.md").write_text(" \n")

    def only(name: str) -> Item:
        (item,) = document_items(tmp_path / name, name, SCOPE, markdown_content, origin="markdown")
        return item

    refusal, skipped = only("bad.md"), only("empty.md")
    assert isinstance(refusal, Refusal)
    assert "line 1" in refusal.reason
    assert isinstance(skipped, SkippedPart)


def test_a_folder_gives_its_files_in_order_and_leaves_hidden_ones_alone(tmp_path: Path) -> None:
    """Folders like .git and .venv and files with other endings are left out."""
    for name in ("b.md", "a/z.markdown", "a/.git/x.md", "c.csv", ".hidden.md"):
        file(tmp_path, name, "text")
    assert [s.name.partition("/")[2] for s in discover([tmp_path]).sources] == ["b.md", "a/z.markdown"]


def test_files_that_are_left_out_of_a_folder_are_counted_by_their_ending(tmp_path: Path) -> None:
    """The user learns that a folder of tables was not imported."""
    for name in ("a.md", "b.csv", "c.csv", "Makefile", ".hidden.csv"):
        (tmp_path / name).write_text("text")
    assert discover([tmp_path]).left_out == {".csv": 2, "no ending": 1}
    result = CliRunner().invoke(app, ["import", str(tmp_path), "--tenant", "acme", "--dry-run"])
    assert result.exit_code == 0
    assert "left out by their ending: 2 .csv, 1 no ending; read are Markdown, plain text," in result.stderr


def test_a_folder_is_found_by_the_tilde_and_a_named_file_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a quoted path; one walk finds both kinds of files."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("notes/a.markdown", "notes/b.html", "notes/c.txt"):
        file(tmp_path, name, "text")
    paths = ["~/notes", "~/notes/c.txt"]
    result = CliRunner().invoke(
        app, ["import", *paths, "--tenant", "acme", "--dry-run", "--format", "markdown"]
    )
    assert "left out by their ending: 1 .html; read are" in result.stderr
    assert "dry run: 2 files" in result.stdout
