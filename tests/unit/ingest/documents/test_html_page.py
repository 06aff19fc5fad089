"""HTML pages of many tags are read in a child process with limits."""

import time
from dataclasses import replace

import pytest

from helix_ingest.extraction.documents import html_page as pages
from helix_ingest.extraction.documents import limited
from helix_ingest.extraction.documents.html import read_html
from helix_ingest.extraction.documents.html_page import MOST_TAGS, html_page
from helix_memory import limits
from helix_shared.errors import InvalidInputError, TemporaryError


def formatting(opened: int, paragraphs: int) -> str:
    """Formatting elements that never close: the parser repeats all of them in every paragraph."""
    return "<p>" + "".join(f"<b a={n}>" for n in range(opened)) + "</p>" + "<p>x" * paragraphs


def test_a_page_reads_the_same_in_both_processes() -> None:
    """Title, text, characters beyond Latin and lone surrogates."""
    page = (
        "<title>Caf\u00e9 \ud800</title><h1>Tram \U0001f68b</h1><table><tr><th>a<th>b<tr><td>1<td>2</table>"
    )
    assert html_page(page) == pages.HtmlPage(*read_html(page))
    long = page + "<p>x</p>" * MOST_TAGS
    assert html_page(long) == pages.HtmlPage(*read_html(long))


def test_only_a_page_of_many_tags_starts_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts end tags, too."""
    monkeypatch.setattr(pages, "READER", replace(pages.READER, module="helix_ingest.no_such_module"))
    assert html_page("<p>x</p>" * (MOST_TAGS // 2)).text.startswith("x\n\nx")
    with pytest.raises(TemporaryError, match="reader of a HTML page ended with status 1"):
        html_page("<p>x</p>" * (MOST_TAGS // 2) + "<p>")


@pytest.mark.parametrize(
    "page",
    [
        formatting(MOST_TAGS // 2, MOST_TAGS // 2 - 2),
        "<div>" * MOST_TAGS,
        "<div>" * (MOST_TAGS // 2) + "</p>" * (MOST_TAGS // 2),
    ],
    ids=["formatting", "nested", "unmatched"],
)
def test_the_worst_pages_of_few_tags_take_little_time(page: str) -> None:
    """What is read in the worker itself: a second of CPU time would already be far too long."""
    began = time.process_time()
    html_page(page)
    assert time.process_time() - began < 1.0


def test_a_page_that_needs_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 KB that would take 700 MiB; the reason names field and limit, and the worker goes on."""
    monkeypatch.setattr(limited, "MEMORY_BYTES", 512 << 20)
    monkeypatch.setattr(pages, "READER", replace(pages.READER, cpu_seconds=60))
    with pytest.raises(
        InvalidInputError, match=r"^parts\.0\.text: needs more than 512 MiB of memory to read"
    ):
        html_page(formatting(500, 4_000), "parts.0.text")
    assert html_page("<p>next").text == "next"


def test_a_page_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formatting elements that are opened again in every paragraph."""
    monkeypatch.setattr(pages, "READER", replace(pages.READER, cpu_seconds=1))
    with pytest.raises(InvalidInputError, match="body: takes more than 1 s of CPU time to read"):
        html_page(formatting(500, 4_000))


def test_too_much_text_is_refused_by_the_child() -> None:
    """As by a page of few tags, with the field of the event."""
    page = "<p>" + "x" * 1_000
    with pytest.raises(InvalidInputError, match=f"body: gives more than {limits.EXTRACTED_CHARACTERS}"):
        html_page(page * 1_001)
