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


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("24 july, 15h, in the coffee room", "2026-07-24"),
        ("Ok, 1 September. And who will be the buddy?", "2026-09-01"),
        ("first one 20 May", "2026-05-20"),
        ("28 April, the usual walk with Ines", "2026-04-28"),
        ("wednesday the 13th, 10 o'clock", "2026-05-13"),
        ("Saturday 2 January then", "2027-01-02"),
        ("Saturday 3 January then", "2026-01-03"),
        ("24 march, both of them", "2026-03-24"),
        ("in the week of 15 june", "2026-06-15"),
        ("ten days after 1 june", "2026-06-11"),
    ],
)
def test_a_day_without_a_verb_is_the_nearest_one_in_a_turn(text: str, day: str) -> None:
    """Or the one that has its weekday. In a document it stays open."""
    found = meant_time(text, THURSDAY, is_turn=True)
    assert found is not None
    assert (f"{found.start:%Y-%m-%d}", found.certainty) == (day, "guessed")
    assert meant_time(text, THURSDAY) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("28th then. already told her", "05-28"),
        ("3rd, same hour", "06-03"),
        ("he's put me back, it's the 23rd now not the 9th", "05-23"),
        ("did NOT happen, its the 19th now, same time", "05-19"),
        ("june 4, both of us", "06-04"),
        ("dentist: may 20 at 8.40", "05-20"),
        ("june 4-6, both of us", "06-04"),
    ],
)
def test_an_ordinal_or_a_month_and_a_number_can_be_a_day(text: str, day: str) -> None:
    """Where words follow that follow a day."""
    found = meant_time(text, THURSDAY, is_turn=True)
    assert found is not None
    assert f"{found.start:%m-%d}" == day


@pytest.mark.parametrize(
    "text",
    [
        "Ideas for March", "room 12, floor 3", "usually on the 15th", "rent: every 5th of the month",
        "Friday", "closed on the 28th", "never on 3 june", "my daughters: June 4, April 7", "feb 29",
        "june 7 and tom 9 years old", "mum born 3 march", "august 9 nights in total", "dec 25 orders",
        "mar 10 units, apr 12 units, may 9 units", "flat 3, 8 June Street", "contract 3 sept 2 rooms",
        "tests on 9, 10 and 11 june", "The 9th was written in 1824", "it's the 8th we bought",
        "that's the 10th i've lost", "6th from the left", "7th. no change.", "10th, not 11th, row",
        "ground floor? no its the 7th", "12th night by shakespeare", "16th in the queue",
    ],
)  # fmt: skip
def test_what_names_no_single_day_of_a_month_stays_open_in_a_turn(text: str) -> None:
    """A guess would be wrong most of the time."""
    found = meant_time(text, THURSDAY, is_turn=True)
    assert found is None or found.certainty != "guessed"


def test_what_everybody_should_do_every_summer_happens_at_no_time() -> None:
    """What "I should" do is a plan for the next summer; "people should" is nobody's."""
    assert meant_time("people should drink more water in summer", THURSDAY, is_turn=True) is None
    mine = meant_time("I should call mum in summer", THURSDAY, is_turn=True)
    assert mine is not None
    assert f"{mine.start:%Y-%m}" == "2026-06"
