"""Numbers and negations, by which texts of the same wording say different things."""

import pytest

from helix_query.recall.evidence.written_values import DENIED, written_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Your order is ready: 30 tablets of bisoprolol 2.5 mg", {"30", "2.5"}),
        ("Backup of db-07 finished at 02:13, 1,204 GB", {"07", "02:13", "1,204"}),
        ("Due 2026-03-01.", {"2026-03-01"}),
        ("You may NOT park here", {DENIED}),
        ("we don\u2019t ship to Malta", {DENIED}),
        ("Nothing was found in 7 files", {DENIED, "7"}),
        ("a note on knots in northern Cannes", set()),
        ("", set()),
    ],
)
def test_values_that_a_text_writes_down(text: str, values: set[str]) -> None:
    """Numbers in their spelling, and one value for a negation of any form."""
    assert written_values(text) == values
