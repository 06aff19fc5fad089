"""Files of every format as the documents that `helix import` publishes."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from helix_cli.sources.discover import discover
from helix_cli.sources.documents.formats import Format
from helix_cli.sources.documents.html import decoded_page
from helix_cli.sources.read import read_source
from helix_ingest.extraction.documents.document import document_pieces
from helix_memory import events, limits
from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import Item, SkippedPart, SourceScope
from helix_shared.sources.source_event import Refusal, SourceEvent
from tests.unit.ingest.documents.conftest import make_pdf

PAGE = (
    "<html><head><title> Opening\n hours </title></head>"
    "<body><h1>Bakery</h1><p>Opens at {}.</p></body></html>"
)


def items(path: Path, **given: Any) -> list[Item]:
    """What is read of a file or a folder."""
    return [
        item
        for source in discover([path], **given).sources
        for item in read_source(source, SourceScope("acme"))
    ]


def only(path: Path) -> events.DocumentEvent:
    """The one document of a file."""
    (item,) = items(path)
    assert isinstance(item, SourceEvent), item
    assert isinstance(item.event, events.DocumentEvent)
    return item.event


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """A file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def pieces_of(document: events.DocumentEvent) -> list[tuple[str, str]]:
    """Heading and text of the pieces that ingest makes."""
    pieces = document_pieces(document, most_tokens=60, count_tokens=lambda text: len(text.split()))
    return [(piece.heading, piece.text) for piece in pieces]


def test_a_page_is_published_as_it_is_under_its_own_title(tmp_path: Path) -> None:
    """Ingest extracts its text, as for every publisher."""
    document = only(written(tmp_path, "hours.html", PAGE.format("six")))
    assert (document.media_type, document.title, document.body) == (
        "text/html",
        "Opening hours",
        PAGE.format("six"),
    )
    assert "Opens at six." in pieces_of(document)[0][1]


def test_a_page_larger_than_an_event_is_published_as_its_text(tmp_path: Path) -> None:
    """Saved pages hold more scripts than text."""
    script = f"<script>{'x = 1; ' * 30_000}</script>"
    document = only(written(tmp_path, "hours.htm", PAGE.format(f"six {script}")))
    assert (document.media_type, document.title) == ("text/markdown", "Opening hours")
    assert document.body == "# Bakery\n\nOpens at six ."


def test_a_page_without_text_is_counted(tmp_path: Path) -> None:
    """A page that a script fills shows nothing to a reader without scripts."""
    (item,) = items(written(tmp_path, "app.html", "<html><body><script>start()</script></body></html>"))
    assert item == SkippedPart("HTML pages without text")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<meta charset="utf-8">Café'.encode(), "Café"),
        (
            '<meta http-equiv=x content="text/html; charset=ISO-8859-1">Café “ok”'.encode("cp1252"),
            "Café “ok”",
        ),
        ('<?xml version="1.0" encoding="iso-8859-2"?><html>Łódź'.encode("iso-8859-2"), "Łódź"),
        ("<p>Café".encode("cp1252"), "Café"),
        ("<p>Café".encode("utf-16"), "Café"),
        ('<meta charset="no-such-thing">Café'.encode(), "Café"),
        ('<meta charset="utf-16">Café'.encode(), "Café"),
        ('<meta charset="base64">Café'.encode(), "Café"),
    ],
)
def test_a_page_is_decoded_as_a_browser_does(page: bytes, text: str) -> None:
    """Mark, declaration, UTF-8, windows-1252; a wrong declaration does not stop it."""
    assert decoded_page(page).endswith(text)


def test_a_pdf_file_travels_as_it_is(tmp_path: Path) -> None:
    """Its title is its name; ingest names the page of each piece."""
    source = make_pdf("Invoice 7", "Total 480 euros")
    document = only(written(tmp_path, "invoice-7.PDF", source))
    assert (document.media_type, document.title) == ("application/pdf", "invoice-7")
    assert base64.b64decode(document.body_base64) == source
    assert pieces_of(document) == [("page 1", "Invoice 7\n\nTotal 480 euros")]


def test_a_pdf_file_larger_than_an_event_is_published_by_its_pages(tmp_path: Path) -> None:
    """Most of a large file is pictures and fonts."""
    source = make_pdf("Oil", "The pump needs 7 ml.") + b"\n%" + b"x" * limits.DOCUMENT_BYTES
    document = only(written(tmp_path, "manual.pdf", source))
    assert document.media_type == "text/plain"
    assert pieces_of(document) == [("page 1", "Oil"), ("page 2", "The pump needs 7 ml.")]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b"\x00\x01 no such file", "is no PDF file"),
        (b"%PDF-1.4\ntorn", "is no PDF file that can be read"),
        (make_pdf(""), "holds no text; recognise the text of scanned pages first"),
    ],
)
def test_a_broken_pdf_file_is_refused_by_its_name_and_the_rest_is_read(
    tmp_path: Path, source: bytes, reason: str
) -> None:
    """Before anything is published, so also in a dry run."""
    broken = written(tmp_path, "a.pdf", source)
    written(tmp_path, "b.pdf", make_pdf("fine"))
    refusal, fine = items(tmp_path)
    assert isinstance(refusal, Refusal)
    assert (refusal.where, refusal.field) == (str(broken), "file")
    assert refusal.reason.startswith(reason)
    assert isinstance(fine, SourceEvent)


@pytest.mark.parametrize(
    ("name", "source", "media_type"),
    [
        ("rota.py", "def swap():\n    pass\n", "text/x-python"),
        ("App.tsx", "export const a = 1;\n", "text/typescript"),
        ("main.go", "package main\n", "text/x-go"),
        ("lib.rs", "fn main() {}\n", "text/x-rust"),
        ("Main.java", "class Main {}\n", "text/x-java"),
        ("beep", "#!/usr/bin/env node\nbeep()\n", "text/javascript"),
    ],
)
def test_source_code_names_its_language(tmp_path: Path, name: str, source: str, media_type: str) -> None:
    """By its ending, or by the program of its first line."""
    document = only(written(tmp_path, name, source))
    assert (document.media_type, document.type, document.title, document.body) == (
        media_type,
        "code",
        name,
        source,
    )


def test_minified_code_is_left_out(tmp_path: Path) -> None:
    """Saved pages come with it."""
    assert items(written(tmp_path, "jquery.js", "a=1;" * 500)) == [
        SkippedPart("files of minified or generated code")
    ]


def test_a_large_text_is_cut_and_loses_nothing(tmp_path: Path) -> None:
    """Into parts without headings, and into more documents."""
    text = "".join(f"Line {n} of a long log that somebody kept.\n" for n in range(12_000))
    found = [
        item.event for item in items(written(tmp_path, "log.txt", text)) if isinstance(item, SourceEvent)
    ]
    documents = [event for event in found if isinstance(event, events.DocumentEvent)]
    assert len(documents) > 1
    assert documents[1].document_id.endswith("/log.txt#2")
    assert "".join(part.text for document in documents for part in document.parts) == text


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("notes.txt", "text", Format.TEXT),
        ("notes.txt", "<!DOCTYPE html><p>page", Format.HTML),
        ("notes.txt", "%PDF-1.4", Format.PDF),
        ("download", "%PDF-1.4", Format.PDF),
        ("page", "<!-- saved -->\n<html lang=en>", Format.HTML),
        ("page.xhtml", '<?xml version="1.0"?><html/>', Format.HTML),
        ("readme.md", "<html>", Format.MARKDOWN),
        ("notice", "text", Format.TEXT),
        ("table.csv", "a,b", Format.TEXT),
        ("turns.jsonl", '{"role": "user"}', None),
        ("picture", b"\x89PNG\x00", None),
        ("utf16.txt", "wide".encode("utf-16"), Format.TEXT),
    ],
)
def test_a_named_file_is_told_by_its_ending_and_its_first_bytes(
    tmp_path: Path, name: str, source: str | bytes, expected: Format | None
) -> None:
    """A PDF file may have any name; a text that is no transcript is plain text."""
    path = written(tmp_path, name, source)
    if expected is None and not path.suffix:
        with pytest.raises(InvalidInputError, match="is nothing that Helix knows"):
            discover([path])
    else:
        assert [source.format for source in discover([path]).sources] == [expected]


def test_a_folder_gives_known_endings_and_what_its_first_bytes_tell(tmp_path: Path) -> None:
    """A file without an ending that could be anything is left out, and so are installed packages."""
    for name in ("a.html", "b.pdf", "c.py", "d.txt", "node_modules/x.js", "env/lib.py", "LICENSE", "e.docx"):
        written(tmp_path, name, "text")
    written(tmp_path, "env/pyvenv.cfg", "home = /usr")
    written(tmp_path, "scan", make_pdf("text"))
    found = discover([tmp_path])
    assert [source.name.partition("/")[2] for source in found.sources] == [
        "a.html",
        "b.pdf",
        "c.py",
        "d.txt",
        "scan",
    ]
    assert (found.left_out, found.installed) == ({"no ending": 1, ".docx": 1}, 2)
    assert [source.path.name for source in discover([tmp_path / "node_modules"]).sources] == ["x.js"]


def test_root_gives_a_part_of_a_folder_the_ids_of_the_whole(tmp_path: Path) -> None:
    """Otherwise a file imported alone would become a second document."""
    path = written(tmp_path, "docs/sales/offer.txt", "480 euros")
    whole = [source.name for source in discover([tmp_path / "docs"]).sources]
    for part in (path, path.parent, tmp_path / "docs" / "sales" / ".." / "sales"):
        assert [source.name for source in discover([part], root=tmp_path / "docs").sources] == whole
    with pytest.raises(InvalidInputError, match="--root"):
        discover([path], root=tmp_path / "other")


def test_a_changed_file_replaces_its_document(tmp_path: Path) -> None:
    """The same document id under a new event id; unchanged, both stay."""
    path = written(tmp_path, "offer.pdf", make_pdf("4180 euros"))
    first, again = only(path), only(path)
    changed = only(written(tmp_path, "offer.pdf", make_pdf("3990 euros")))
    assert first.event_id == again.event_id
    assert (first.document_id, first.event_id != changed.event_id) == (changed.document_id, True)


def test_a_text_that_is_not_utf_8_names_its_line(tmp_path: Path) -> None:
    """With CRLF, too; a mark at the beginning and empty lines are no fault."""
    (refusal,) = items(written(tmp_path, "notes.txt", b"\xef\xbb\xbfone\r\n\r\nt\xffwo\r\n"))
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "is not UTF-8 in line 3"
    assert only(written(tmp_path, "good.txt", b"\xef\xbb\xbfone\r\n\r\ntwo\r\n")).body == "one\r\n\r\ntwo\r\n"


def test_a_pipe_in_a_folder_is_left_alone(tmp_path: Path) -> None:
    """To look into it would wait for a writer, for ever."""
    written(tmp_path, "notes.txt", "The kiln reaches 1200 degrees.")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.md")
    assert len(items(tmp_path)) == 1
