"""Words of a PDF file that stand in two lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from helix_ingest.extraction.documents.pdf_process import read, with_whole_words
from tests.unit.linear_time import Linear, repeated


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("The implemen-\ntation of multi-\nple systems.", "The implementation of multiple systems."),
        ("Die Donau-\ndampfschiffe", "Die Donaudampfschiffe"),
        ("a well-\nknown, self-\naware man", "a well-known, self-aware man"),
        ("tel. 555-\n1234", "tel. 555-\n1234"),
        ("the Anglo-\nSaxons, x-\nray and - \nso on", "the Anglo-\nSaxons, x-\nray and -\nso on"),
        ("step-by-\nstep", "step-by-\nstep"),
    ],
)
def test_a_word_divided_at_the_end_of_a_line_is_put_together(
    lines: str, expected: str, pdf: Callable[..., bytes]
) -> None:
    """A search for "implementation" finds the page; what only looks divided keeps its line."""
    assert read(pdf(lines)) == {"pages": [expected]}


def test_hostile_lines_take_linear_time(linear_functions: Linear) -> None:
    """Also where every word seems divided."""
    texts = repeated("ab-\n", "a" * 50, "a-\n", "ab\u00ad")
    assert not linear_functions.failures(with_whole_words, texts=texts)
