"""Text of HTML pages."""

import time

import pytest

from helix_ingest.extraction.documents.html import read_html
from helix_memory import limits
from helix_shared.errors import InvalidInputError


def html_text(source: str) -> str:
    """The text of a page."""
    return read_html(source)[1]


def test_layout_table_is_text_and_data_table_is_a_table() -> None:
    """Without a header the rows are lines; a table inside a table makes the outer one layout."""
    inner = "<table><tr><td>Mon<td>9:00</tr><tr><td colspan=2>closed</table>"
    assert html_text(f"<table><tr><td>Opening hours<td>{inner}</table>") == (
        "Opening hours\n\n| Mon | 9:00 |\n| closed |  |"
    )
    assert html_text("<table role=presentation><tr><td>a<td>b</table>") == "a\nb"


def test_a_cell_that_spans_rows_stands_in_each_of_them() -> None:
    """Also with several columns, at the end of a row, and not beyond its part of the table."""
    table = "<table><thead><tr><th rowspan=9>City<th>Opens</thead><tbody>{}</table>"
    head = "| City | Opens |\n|---|---|\n"
    rows = "<tr><td rowspan=2>Ghent<td>Mon<tr><td>Tue<tr><td>Porto<td>Fri"
    assert html_text(table.format(rows)) == f"{head}| Ghent | Mon |\n| Ghent | Tue |\n| Porto | Fri |"
    rows = "<tr><td>Ghent<td rowspan=2>Mon<tr><td>Porto<tr><td>Leeds<td>Sat"
    assert html_text(table.format(rows)) == f"{head}| Ghent | Mon |\n| Porto | Mon |\n| Leeds | Sat |"
    rows = "<tr><td>a<td>b<td rowspan=2>c<tr><td>d<tr><td>e"
    assert html_text(f"<table>{rows}</table>") == "| a | b | c |\n| d |  | c |\n| e |  |  |"
    rows = "<tr><td rowspan=2 colspan=2>a<td>b<tr><td>c<tr><td>d<td>e<td rowspan=x>f"
    assert html_text(f"<table>{rows}</table>") == "| a |  | b |\n| a |  | c |\n| d | e | f |"


def test_items_of_an_ordered_list_keep_their_numbers() -> None:
    """Also of two lists at once, and with numbers of their own; other lists have none."""
    assert html_text("<ol><li>Stop it<li>Wait<ul><li>long</ul><li>Start it</ol>") == (
        "1. Stop it\n2. Wait\n    - long\n3. Start it"
    )
    assert (
        html_text("<ol start=4><li>a<li value=9>b<li>c<ol><li>d</ol></ol>") == "4. a\n9. b\n10. c\n    1. d"
    )
    assert html_text("<ol start=x><li value=-1>a</ol>") == "1. a"


def test_a_list_in_a_list_stands_under_its_item() -> None:
    """Paragraphs keep the marker of their item, and what ends no list is no new paragraph."""
    assert (
        html_text("<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>e")
        == "- a\n    - b\n        1. c\n- d\n\ne"
    )
    loose = html_text("<p>x</p><ol><li><p>a</p><p>more</p><li><div>b</div></ol>")
    assert loose == "x\n\n1. a\n\nmore\n\n2. b"
    assert html_text("<ul><li><ul><li>a</ul><li></ul><p>b") == "- - a\n\nb"
    assert html_text("<ul><li><h2>A</h2>b<li>c</ul>") == "## A\n\nb\n- c"
    assert html_text("<ul><li><pre>x</pre>after<ul><li>b</ul></ul>") == "```\nx\n```\n\nafter\n    - b"


def test_deep_lists_do_not_grow_with_their_depth() -> None:
    """A small page gives a text of its own size."""
    page = "<ul><li>x" * 100 + "<li>y" * 20_000
    assert len(html_text(page)) < 10 * len(page)


def test_what_is_not_shown_is_left_out() -> None:
    """By its attribute, or by its own style."""
    page = "<p>a<span style='color:red; DISPLAY : none'>b</span><i hidden>c</i><b style='display:block'>d</b>"
    assert html_text(page) == "ad"


def test_broken_markup_and_entities_are_read_as_a_browser_reads_them() -> None:
    """Missing end tags, unknown entities, comments and an external entity."""
    page = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>5 &lt; 6 &x; <b>bold<p>next<!-- c --'
    assert html_text(page).split("\n\n")[-2:] == ["5 < 6 &x; bold", "next"]
    assert html_text("") == ""


def test_code_keeps_its_lines_and_has_no_button() -> None:
    """Many pages break the lines of code with `br` or `div`, and put a button for copying into it."""
    assert html_text("<pre>a<br>  b<br/>c</pre>") == "```\na\n  b\nc\n```"
    lines = "<pre><button>Copy</button><code><div>a</div>\n<div>  b</div><span>c\n</span>d</code></pre>"
    assert html_text(lines) == "```\na\n  b\nc\nd\n```"


def test_blocks_within_a_cell_are_words_apart() -> None:
    """Two numbers that stand below each other are not one number."""
    cells = "<td><div>8080</div>8081<td><h3>T</h3>text<td><ul><li>one</ul>two<td>x<pre>a\nb</pre>"
    assert html_text(f"<table><tr>{cells}</table>") == "| 8080 8081 | T text | one two | x a b |"


def test_a_raised_number_is_not_read_as_digits_of_the_number_before_it() -> None:
    """Ten to the sixth is not 106, a footnote adds no digit, and a fraction is none of the number before."""
    text = "10<sup>6</sup>, 1,234<sup><a>1</a></sup>, 101<sub>2</sub>, 7<sup>1</sup>/<sub>2</sub> cups"
    assert html_text(f"<p>{text}</p>") == "10^6, 1,234^1, 101_2, 7 1/2 cups"
    assert html_text("<p>1<sup>st</sup>, m<sup>2</sup>, H<sub>2</sub>O</p>") == "1st, m2, H2O"
    assert html_text("<table><tr><td>10<sup>-3</sup><td>b</table>") == "| 10^-3 | b |"


def test_code_with_fences_inside_stays_one_block() -> None:
    """The outer fence differs from the inner one."""
    assert html_text("<pre>a\n```\n~~~\nb</pre>") == "````\na\n```\n~~~\nb\n````"


@pytest.mark.parametrize(
    "tag", ["<b>", "<div>", "<table><tr><td>", "<ul><li>", "<b><p>", "<pre>", "<p>", "<td>x", "<h1>"]
)
def test_hostile_nesting_takes_bounded_time(tag: str) -> None:
    """100,000 characters of tags that never close."""
    started = time.process_time()
    html_text(tag * (100_000 // len(tag)))
    assert time.process_time() - started < 15


def test_page_that_gives_too_much_text_is_refused() -> None:
    """Tables with many columns cannot multiply the text without limit."""
    row = "<td>x<td colspan=64>" + "<tr>"
    page = "<table><tr>" + row * 4_000 + "</table>"
    with pytest.raises(InvalidInputError, match=f"body: gives more than {limits.EXTRACTED_CHARACTERS}"):
        html_text(page)


def test_cells_that_span_rows_cannot_multiply_the_text_without_limit() -> None:
    """Ninety-nine rows at most repeat a cell, and the text of a page is bounded."""
    assert html_text("<table><tr><td rowspan=99>a<td>b" + "<tr><td>c" * 150 + "</table>").count("| a |") == 99
    page = "<table><tr><td rowspan=99>" + "a" * 60_000 + "<td>b" + "<tr><td>c" * 4_000 + "</table>"
    with pytest.raises(InvalidInputError, match=f"body: gives more than {limits.EXTRACTED_CHARACTERS}"):
        html_text(page)


def test_cells_that_span_a_full_row_leave_room_for_no_other() -> None:
    """A row ends with the last column that is kept, also for the cells of earlier rows."""
    rows = '<tr><td rowspan="2" colspan="64">x</td></tr><tr><td rowspan="99" colspan="64">y</td></tr>'
    above, below = html_text(f"<table>{rows}</table>").split("\n")
    assert above == below == "| x |" + "  |" * 63
