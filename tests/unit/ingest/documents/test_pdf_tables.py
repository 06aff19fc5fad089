"""Tables of PDF pages: ruled ones, aligned ones, and what looks like one and is none."""

import base64
import io
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import pytest
from pypdf import PdfReader

from helix_ingest.extraction.documents.document import document_pieces
from helix_ingest.extraction.documents.pdf import pdf_pages
from helix_ingest.extraction.documents.pdf_tables import page, placed, ruled
from helix_memory.events import DocumentEvent

Pdf = Callable[..., bytes]
SIZE, PITCH, LEFT, TOP = 10, 16, 60, 700
COLUMNS = (LEFT, 160, 260)
ROWS = [("City", "Opens", "Boats"), ("Ghent", "Mon", "201"), ("Porto", "Tue", "7"), ("Bergen", "Wed", "88")]
TABLE = """\
| City | Opens | Boats |
|---|---|---|
| Ghent | Mon | 201 |
| Porto | Tue | 7 |
| Bergen | Wed | 88 |"""
PROSE = (
    "the harbour office keeps a record of every boat that",
    "enters and leaves while tide and weather allow it since",
    "pilots ask for all figures each morning before they go",
    "out and the harbour master signs what was written down",
    "on the evening before so that nobody has to ask again",
    "when a captain comes back late and wants to pay a fee",
)


def at(x: float, y: float, text: str) -> str:
    """A text at a place."""
    return f"BT /F1 {SIZE} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n"


def moved(x: float, y: float, text: str) -> str:
    """The same inside one text object, moved from the origin and back."""
    return f"{x} {y} Td ({text}) Tj {-x} {-y} Td\n"


def cells(
    rows: Sequence[Sequence[str]], columns: Sequence[float] = COLUMNS
) -> list[list[tuple[float, float, str]]]:
    """Places of the cells, row by row."""
    return [
        [(x, TOP - PITCH * n, text) for x, text in zip(columns, row, strict=True) if text]
        for n, row in enumerate(rows)
    ]


def grid(rows: int, columns: Sequence[float], *, height: float = PITCH) -> str:
    """The lines of a table of some rows, of which the first has its base line at `TOP`."""
    top, bottom = TOP + height - 4, TOP + height - 4 - height * rows
    level = (
        f"{columns[0]} {top - height * n} m {columns[-1]} {top - height * n} l S\n" for n in range(rows + 1)
    )
    upright = (f"{x} {bottom} m {x} {top} l S\n" for x in columns)
    return "".join([*level, *upright])


def page_of(pdf: Pdf, content: str) -> str:
    """The text of a page with this content."""
    return pdf_pages(base64.b64encode(pdf("", stream=content.encode())).decode())[0]


def plain_text(file: bytes) -> str:
    """What pypdf alone reads."""
    return PdfReader(io.BytesIO(file)).pages[0].extract_text()


def with_tables(file: bytes) -> str:
    """What a child process reads of the first page, read here."""
    return page.PageReader().text(PdfReader(io.BytesIO(file)).pages[0])


def drawn(places: Iterable[Iterable[tuple[float, float, str]]]) -> str:
    """Texts at places, in the order given."""
    return "".join(at(*place) for row in places for place in row)


def test_aligned_cells_are_a_table_in_whatever_order_they_are_written(pdf: Pdf) -> None:
    """Row by row, column by column, from the end, and in one text object."""
    rows = cells(ROWS)
    columns = [list(column) for column in zip(*rows, strict=True)]
    for places in (rows, columns, [row[::-1] for row in rows[::-1]]):
        assert page_of(pdf, drawn(places)) == TABLE
    inside = "".join(moved(*place) for row in columns for place in row)
    assert page_of(pdf, f"BT /F1 {SIZE} Tf {inside} ET") == TABLE


def test_a_table_stands_between_the_texts_around_it(pdf: Pdf) -> None:
    """In the order of the file, with an empty line on both sides."""
    before = at(LEFT, TOP + 60, PROSE[0]) + at(LEFT, TOP + 46, PROSE[1])
    after = at(LEFT, TOP - 120, PROSE[2])
    text = page_of(pdf, before + drawn(cells(ROWS)) + after)
    assert text == f"{PROSE[0]}\n{PROSE[1]}\n\n{TABLE}\n\n{PROSE[2]}"


def test_cells_between_lines_may_have_several_lines(pdf: Pdf) -> None:
    """Lines tell the rows; a cell without text stays empty, and `|` in a text is no border."""
    xs, height = (55.0, 155.0, 255.0, 355.0), 40.0
    lines = [("City", "Opens", "Note"), ("Ghent", "Mon", ""), ("Porto", "a|b", "Fri")]
    places = [
        [(x + 5, TOP - height * n, text) for x, text in zip(xs, row, strict=False) if text]
        for n, row in enumerate(lines)
    ]
    places[1][0] = (60, TOP - height + 12, "Ghent")
    wrapped = at(60, TOP - height, "old port")
    text = page_of(pdf, grid(3, xs, height=height) + drawn(places) + wrapped)
    assert (
        text == "| City | Opens | Note |\n|---|---|---|\n| Ghent old port | Mon | |\n| Porto | a\\|b | Fri |"
    )


def test_rectangles_are_lines_where_they_are_painted(pdf: Pdf) -> None:
    """Two rows are a table only by their lines: a path that clips has none, and a frame is no table."""
    rows = cells([row[:2] for row in ROWS[:2]], COLUMNS[:2])
    boxes = "".join(f"{x - 5} {y - 4} 100 {PITCH} re " for row in rows for x, y, _ in row)
    assert page_of(pdf, f"{boxes} S {drawn(rows)}") == "| City | Opens |\n|---|---|\n| Ghent | Mon |"
    for path in (f"{boxes} W n", f"50 {TOP - 30} 400 60 re S"):
        assert page_of(pdf, f"{path} {drawn(rows)}") == "City Opens\nGhent Mon"


def test_a_line_with_one_cell_continues_the_row_above(pdf: Pdf) -> None:
    """And a missing cell is empty; the header is no header where a cell of it names nothing."""
    rows = [("Ghent", "2019", "paid in"), ("Porto", "2020", ""), ("Bergen", "2021", "open")]
    wrapped = at(COLUMNS[2], TOP - 11, "full")
    text = page_of(pdf, drawn(cells(rows)) + wrapped)
    assert text == "| Ghent | 2019 | paid in full |\n| Porto | 2020 | |\n| Bergen | 2021 | open |"


@pytest.mark.parametrize("order", ["column by column", "line by line"])
def test_prose_in_two_columns_is_no_table(pdf: Pdf, order: str) -> None:
    """It is read as the file writes it, as without tables."""
    halves = [[(x, TOP - 13 * n, line) for n, line in enumerate(PROSE)] for x in (LEFT, 330)]
    places = halves if order == "column by column" else list(zip(*halves, strict=True))
    file = pdf("", stream=drawn(places).encode())
    text = pdf_pages(base64.b64encode(file).decode())[0]
    assert "|" not in text
    assert text == "\n".join(line.strip() for line in plain_text(file).splitlines()).strip()


def test_lists_and_words_that_are_placed_one_by_one_are_no_tables(pdf: Pdf) -> None:
    """Marks in front of items, and prose of which every word has its own place."""
    for mark in ("*", "1.", "(a)"):
        listed = [[(LEFT, TOP - 14 * n, mark), (90, TOP - 14 * n, line[:20])] for n, line in enumerate(PROSE)]
        assert "|" not in page_of(pdf, drawn(listed))
    words: list[list[tuple[float, float, str]]] = []
    for n, line in enumerate(PROSE):
        x = float(LEFT)
        words.append([])
        for word in line.split():
            words[-1].append((x, TOP - 14 * n, word))
            x += SIZE * 0.5 * (len(word) + 1)
    assert "|" not in page_of(pdf, drawn(words))


def test_a_long_table_repeats_its_header_in_every_piece(pdf: Pdf) -> None:
    """Offsets count the text of the page, and the heading is the page."""
    rows = [("City", "Opens", "Boats"), *((f"Port{n}", "Mon", str(n)) for n in range(30))]
    places = [
        [(x, 740 - 14 * n, text) for x, text in zip(COLUMNS, row, strict=True)] for n, row in enumerate(rows)
    ]
    body = base64.b64encode(pdf("", stream=drawn(places).encode())).decode()
    event = DocumentEvent(
        event_id="e", tenant_id="acme", document_id="d", media_type="application/pdf", body_base64=body
    )
    pieces = document_pieces(event, most_tokens=40, count_tokens=lambda text: len(text.split()))
    text = pdf_pages(body)[0]
    assert len(pieces) > 2
    for piece in pieces:
        assert piece.heading == "page 1"
        assert piece.text == text[piece.start : piece.end]
        assert (piece.table_header or piece.text).startswith("| City | Opens | Boats |")
    assert all(one.end <= other.start for one, other in pairwise(pieces))


def test_a_page_with_too_much_or_broken_drawing_is_read_without_tables(
    pdf: Pdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is that of pypdf; the control is the same table within the limit."""
    file = pdf("", stream=drawn(cells(ROWS)).encode())
    assert with_tables(file).strip() == TABLE
    monkeypatch.setattr(page, "MOST_OPERATIONS", 10)
    assert with_tables(file) == plain_text(file)
    broken = pdf("", stream=b"/a /b /c re (x) 1 l S " + drawn(cells(ROWS)).encode())
    monkeypatch.undo()
    assert with_tables(broken) == plain_text(broken)


def test_a_drawing_of_many_lines_has_no_ruled_table(pdf: Pdf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither more lines nor more meetings than the limits; within them the grid is found."""
    rows = cells([row[:2] for row in ROWS[:2]], COLUMNS[:2])
    file = pdf("", stream=(grid(2, (55, 155, 255)) + drawn(rows)).encode())
    for module, name in ((placed, "MOST_LINES"), (ruled, "MOST_MEETINGS")):
        assert "|" in with_tables(file)
        with monkeypatch.context() as patch:
            patch.setattr(module, name, 1)
            assert "|" not in with_tables(file)


def test_hostile_pages_take_little_time(pdf: Pdf) -> None:
    """Many aligned rows that are prose, one row of many cells, and many small grids."""
    prose = "".join(at(x, 10_000 - n, PROSE[n % 6]) for n in range(1_000) for x in (LEFT, 400))
    wide = drawn([[(20 * n, TOP, "a") for n in range(2_000)], [(0, TOP - 12, "b"), (40, TOP - 12, "c")]])
    grids = "".join(f"{40 * n} {m * 10} m {40 * n + 20} {m * 10} l S " for n in range(100) for m in range(3))
    grids += "".join(f"{40 * n + 10 * m} 0 m {40 * n + 10 * m} 20 l S " for n in range(100) for m in range(3))
    for content in (prose, wide, grids + prose):
        file = pdf("", stream=content.encode())
        began = time.process_time()
        plain_text(file)
        plain = time.process_time() - began
        with_tables(file)
        assert time.process_time() - began - plain < 6 * plain
