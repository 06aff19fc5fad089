"""Text of HTML pages."""

import time

import pytest

from helix_ingest.extraction.documents.html import html_text
from helix_memory import limits
from helix_shared.errors import InvalidInputError


def test_layout_table_is_text_and_data_table_is_a_table() -> None:
    """Without a header the rows are lines; a table inside a table makes the outer one layout."""
    inner = "<table><tr><td>Mon<td>9:00</tr><tr><td colspan=2>closed</table>"
    assert html_text(f"<table><tr><td>Opening hours<td>{inner}</table>") == (
        "Opening hours\n\n| Mon | 9:00 |\n| closed |  |"
    )
    assert html_text("<table role=presentation><tr><td>a<td>b</table>") == "a\nb"


def test_broken_markup_and_entities_are_read_as_a_browser_reads_them() -> None:
    """Missing end tags, unknown entities, comments and an external entity."""
    page = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>5 &lt; 6 &x; <b>bold<p>next<!-- c --'
    assert html_text(page).split("\n\n")[-2:] == ["5 < 6 &x; bold", "next"]
    assert html_text("") == ""


def test_code_with_fences_inside_stays_one_block() -> None:
    """The outer fence differs from the inner one."""
    assert html_text("<pre>a\n```\nb</pre>") == "~~~\na\n```\nb\n~~~"


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
