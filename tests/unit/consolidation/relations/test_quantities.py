"""Values in texts: kinds, units, and words that name a date only in some places."""

import pytest

from helix_consolidation.relations.words.quantities import Quantity
from helix_consolidation.relations.words.reading import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("practice at 19:30", {Quantity("time", "19:30")}),
        ("practice at 7pm", {Quantity("time", "19:00")}),
        (
            "on 4 August, not the 11th",
            {Quantity("day", "4"), Quantity("month", "august"), Quantity("day", "11")},
        ),
        ("it may rain in march", {Quantity("month", "march")}),
        ("tue n fri", {Quantity("weekday", "tuesday"), Quantity("weekday", "friday")}),
        ("I sat there", set()),
        ("1,800 for the roof", {Quantity("number", "1800")}),
        ("25k all in", {Quantity("number", "25000")}),
        ("40 GB or 3 hrs", {Quantity("number", "40", "gb"), Quantity("number", "3", "hour")}),
        ("it costs \u20ac12.50", {Quantity("number", "12.50", "eur")}),
        ("thirty-five guests", {Quantity("number", "35")}),
        ("ticket 4821 is open", {Quantity("code", "4821")}),
        ("parcel QX-20418-B", {Quantity("code", "qx-20418-b")}),
        ("founded in 1998", {Quantity("year", "1998")}),
        ("no values here", set()),
    ],
)
def test_values_have_kind_and_unit(text: str, expected: set[Quantity]) -> None:
    """Also spelled, with thousands separators and with currencies."""
    assert read(text).quantities == expected


def test_values_and_words_of_change_are_no_content_words() -> None:
    """What is left says what a statement is about."""
    assert read("The rehearsal moved from Monday to 4 June, 18:30 instead").words == {"rehearsal"}


@pytest.mark.parametrize(
    "text", ["", " ", "a.b," * 30_000, "1" * 100_000, "if " * 40_000, "?!" * 50_000, "\x00\ud800"]
)
def test_any_text_can_be_read(text: str) -> None:
    """In linear time, and only its first characters."""
    assert read(text).length <= 1_000
