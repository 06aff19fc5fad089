"""Which of several times of a text is the one at which it happens."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from helix_ingest.extraction.meant_time import meant_time

THURSDAY = datetime(2026, 5, 7, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("kofi can't do wednesday. thursday 10am, same room", "05-14"),
        ("I can't make Friday, Saturday instead", "05-09"),
        ("Friday doesn't work for me, Saturday at 5?", "05-09"),
        ("scrap Tuesday, let's do Wednesday", "05-13"),
        ("It was supposed to be on Friday but now it's on the 20th", "05-20"),
        ("Friday doesn't work for me, dentist on Monday at 9 instead", "05-11"),
        ("the 12th is off, we go on the 19th", "05-19"),
        ("Saturday is out, how about Sunday", "05-10"),
        ("nothing on Friday, dentist on Monday", "05-11"),
        ("forget Monday, we'll meet on Wednesday", "05-13"),
        ("Tuesday 2pm won't work, Wednesday 2pm would", "05-13"),
        ("see you on Friday, not Thursday", "05-08"),
        ("Tuesday works for me, I can't do Wednesday", "05-12"),
        ("I can't come until Friday, let's talk on Monday", "05-08"),
        ("The party is on Saturday and brunch on Sunday", "05-09"),
        ("I told you about the school event on Monday. It was full of people", "05-04"),
        ("my passport runs out on Monday, renewal on Tuesday", "05-11"),
    ],
)
def test_a_denied_time_gives_way_to_the_one_that_holds(text: str, day: str) -> None:
    """The denial may stand before the time or behind it, and reaches no other clause."""
    found = meant_time(text, THURSDAY)
    assert found is not None
    assert f"{found.start:%m-%d}" == day


@pytest.mark.parametrize("text", ["I can't make Friday", "Friday doesn't work for me"])
def test_a_denied_time_alone_is_what_the_text_is_about(text: str) -> None:
    """A question for that day should find it."""
    found = meant_time(text, THURSDAY)
    assert found is not None
    assert f"{found.start:%m-%d}" == "05-08"
