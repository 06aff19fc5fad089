"""Splitting long texts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_ingest.extraction.segment import MOST_SECTIONS, segment
from tests.unit.linear_time import Linear, repeated


def words(text: str) -> int:
    """A token is a word in these tests."""
    return len(text.split())


def test_text_that_fits_is_one_piece() -> None:
    """Without outer white space, with its offsets."""
    piece = segment("  hello there \n", most_tokens=5, count_tokens=words)[0]
    assert (piece.text, piece.start, piece.end) == ("hello there", 2, 13)


def test_code_fence_stays_whole_and_its_comment_is_no_heading() -> None:
    """A hash sign inside a code fence is not a heading."""
    text = "Before it all.\n\n```python\n# not a heading\nx = 1\n\ny = 2\n```\n\nAfter it all came more."
    pieces = segment(text, most_tokens=12, count_tokens=words)
    assert "```python\n# not a heading\nx = 1\n\ny = 2\n```" in [p.text for p in pieces]
    assert {p.heading for p in pieces} == {""}


@pytest.mark.parametrize(
    "code",
    [
        "```\n~~~\n# no heading\n```",
        "~~~\n```\n# no heading\n~~~",
        "````\n```\n# no heading\n````",
        "```\n# no heading\n````",
        "```markdown\n# no heading\n```sh\n# nor this\n```\n# nor this\n```",
    ],
)
def test_a_fence_ends_with_one_of_its_kind(code: str) -> None:
    """A fence of another kind or a shorter one is code, and so is a nested block."""
    pieces = segment(f"# A\n\n{code}\n\n# B\n{'b ' * 20}", most_tokens=24, count_tokens=words)
    assert [(p.heading, p.text.count("heading")) for p in pieces] == [("A", 1), ("B", 0)]


def test_a_block_that_is_not_closed_is_not_nested() -> None:
    """The second fence is code, since otherwise the block would end with the text."""
    pieces = segment("```sh\nx\n```sh\ny\n```\n\n# A\na a a", most_tokens=6, count_tokens=words)
    assert [p.heading for p in pieces] == ["", "A"]


def test_line_ends_of_windows_separate_paragraphs() -> None:
    """A paragraph is not cut between its lines, and joined to the next one."""
    text = "a a\na a\n\nb b\nb b\n\nc c\nc c"
    unix, windows = (
        segment(t, most_tokens=6, count_tokens=words) for t in (text, text.replace("\n", "\r\n"))
    )
    assert [p.text for p in unix] == [p.text.replace("\r", "") for p in windows]


def test_headings_form_a_path() -> None:
    """A heading of the same level ends the one before it."""
    text = "# A\nx x x\n## B\ny y y\n## C\nz z z\n# D\nw w w"
    pieces = segment(text, most_tokens=5, count_tokens=words)
    assert [p.heading for p in pieces] == ["A", "A > B", "A > C", "D"]


def test_headings_with_a_line_below_are_headings() -> None:
    """Not a line of a paragraph before a rule, front matter, a list, or what stands in a fence."""
    text = "Deploy guide\n============\n\nx x x\n\nRollback\n--------\ny y y\n\nz z z\n---\nw w w"
    pieces = segment(text, most_tokens=4, count_tokens=words)
    found = [(p.heading, p.text.split()[0]) for p in pieces]
    assert found[0] == ("Deploy guide", "Deploy")
    assert ("Deploy guide > Rollback", "Rollback") in found
    plain = ("title: x\nname: y\n---\na a", "one\ntwo\n---\nthree", "- a\n---\nb", "```\n\nx\n---\n```")
    for text in plain:
        assert {p.heading for p in segment(text, most_tokens=2, count_tokens=words)} == {""}


def test_the_headings_of_too_many_sections_are_text() -> None:
    """Each section is a memory with vectors; 4,000 did not fit one message, so the document was refused."""
    text = "# a\nb\n" * (MOST_SECTIONS + 1)
    pieces = segment(text, most_tokens=100, count_tokens=words)
    assert {p.heading for p in pieces} == {""}
    assert len(pieces) < 50
    assert len(segment(text[6:], most_tokens=100, count_tokens=words)) == MOST_SECTIONS


def test_unbroken_run_is_cut_by_force() -> None:
    """A megabyte without a space is split."""
    pieces = segment("x" * 5_000, most_tokens=100, count_tokens=lambda text: len(text) // 3 + 1)
    assert "".join(p.text for p in pieces) == "x" * 5_000
    assert max(len(p.text) for p in pieces) <= 400


@given(st.text(alphabet=st.sampled_from("ab .\n#`~-"), max_size=400), st.integers(1, 12))
def test_pieces_cover_the_text_in_order(text: str, most: int) -> None:
    """Every character except white space is in exactly one piece, and the offsets are right."""
    pieces = segment(text, most_tokens=most, count_tokens=words)
    assert "".join("".join(p.text.split()) for p in pieces) == "".join(text.split())
    assert all(text[p.start : p.end] == p.text for p in pieces)
    assert all(a.end <= b.start for a, b in pairwise(pieces))


def test_hostile_text_takes_linear_time(linear_functions: Linear) -> None:
    """100,000 characters of brackets, fences, headings or ends of sentences."""
    assert not linear_functions.failures(
        lambda text: segment(text, most_tokens=200, count_tokens=lambda piece: len(piece) // 4),
        texts=repeated("[", "```\n", "# a\n", ". "),
    )
