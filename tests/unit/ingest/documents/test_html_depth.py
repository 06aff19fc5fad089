"""Pages that nest deeper than browsers follow."""

import pytest

from helix_ingest.extraction.documents.html import read_html
from helix_ingest.extraction.documents.html_depth import MOST_DEPTH, with_bounded_depth
from tests.unit.linear_time import Linear, repeated

DEEP = MOST_DEPTH + 90


NESTING = """
<div>  <div><p>  <ul><li>  <div><span>  <section/hidden>  <pre>  <nav>  <x-y>  <i><b>  <table><tr><td>
<div><table><tr><td></div></table>  <div/class='  <!--  <script>  </div>
"""


@pytest.mark.parametrize("piece", NESTING.split())
def test_hostile_nesting_takes_linear_time(piece: str, linear_functions: Linear) -> None:
    """The parser alone takes four times the time for two times the depth."""
    assert not linear_functions.failures(read_html, texts=repeated(piece), characters=200_000)


def test_a_page_that_nests_less_is_not_changed() -> None:
    """Whatever it holds: also mistakes stay as the parser reads them."""
    for page in ("<div>" * MOST_DEPTH + "x", "<p>a<p>b" * 999, "<br>" * 999, "<!--" + "<div>" * 999 + "-->a"):
        assert with_bounded_depth(page, left_out=frozenset()) == page
    scripted = "<script>" + "'<div>'" * 999 + "</script>a"
    assert with_bounded_depth(scripted, left_out=frozenset()) == scripted


def test_the_text_of_deeper_elements_stays() -> None:
    """Each block is a line; inline elements split no word, and text behind the deep place is as before."""
    inner = "".join(f"<div>level {n}" for n in range(DEEP))
    page = f"<h1>Title</h1>{inner}, un<b>brok</b>en{'</div>' * DEEP}<p>after</p><p>last</p>"
    _, text = read_html(page)
    lines = [line for line in text.split("\n") if line]
    assert lines == [
        "# Title",
        *(f"level {n}" for n in range(DEEP - 1)),
        f"level {DEEP - 1}, unbroken",
        "after",
        "last",
    ]


@pytest.mark.parametrize("unshown", ["<div class=a hidden>{}</div>", "<nav>{}</nav>", "<svg>{}</svg>"])
def test_what_is_not_shown_stays_out_of_a_deep_place(unshown: str) -> None:
    """Hidden elements and navigation, with what is inside them."""
    inside = unshown.format("secret <div>secret</div>")
    _, text = read_html("<div>" * DEEP + f"a{inside}b" + "</div>" * DEEP)
    assert text.split() in (["a", "b"], ["ab"])
