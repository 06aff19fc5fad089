"""Changes told in one session: what they close as in another one, and what they leave open."""

import pytest

from helix_consolidation.relations.words.reading import read
from tests.unit.consolidation.relations.test_decide import decided, said

JAPAN = "We're going to Japan in April"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (JAPAN, "Change of plan: we are going to Japan in May instead."),
        (JAPAN, "We moved the Japan trip to May"),
        (JAPAN, "change of plan: May instead for Japan"),
        (JAPAN, "We're now going to Japan in May instead of April"),
        ("We use Redux", "We switched to Zustand instead of Redux"),
        ("The launch is on 4 May", "The launch moved to 11 May"),
        ("We store sessions in Redis", "We don't store sessions in Redis anymore"),
        ("My rent is 700 euros", "My rent is now 750 euros"),
    ],
)
def test_a_change_closes_what_it_names_again(older: str, newer: str) -> None:
    """Though the model thinks an update inside one session improbable."""
    assert decided(said(newer, session=1), said(older, session=1), cosine=0.8)[0].closes


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Japan in April with Ana", "Korea in May with Ben"),
        ("We are going to Japan in April with Ana", "We are now going to Korea in May with Ben"),
        ("We are going to Japan in April with Ana", "We are going to Japan in May with Ben now instead"),
        ("Milk goes in the fridge", "Bread goes in the box instead of the fridge"),
        ("The frontend moved to Vite", "The backend moved to uv"),
        ("The rent is 700 euros", "The garage rent is now 90 euros"),
        ("The launch is on 4 May", "The beta launch moved to 8 June"),
        ("The meeting is at 9:00", "The second meeting moved to 14:00"),
        ("The standup is at 9:30", "The Friday standup moved to 10:00"),
        ("Our flight is on Monday", "Mum's flight is now on Tuesday"),
        ("The gym is open until 22:00", "Until 20:00 the gym is now open for Ben's class"),
        (JAPAN, "We're going to Japan in April and to Korea in May instead of China"),
        (JAPAN, "We're going to Japan in May"),
    ],
)
def test_a_list_told_in_one_session_closes_nothing(older: str, newer: str) -> None:
    """Other things, narrower ones, things of others, the same value once more, and no word of change."""
    found = decided(said(newer, session=1), said(older, session=1), cosine=0.8)
    assert not any(one.closes for one in found.values())


@pytest.mark.parametrize(
    ("text", "is_sure"),
    [
        ("we moved the Japan trip to May", True),
        ("we moved our CI from Jenkins to Buildkite", True),
        ("she pushed her flight to Monday", True),
        ("we moved the sofa", False),
        ("it was a moving film", False),
    ],
)
def test_what_is_moved_to_something_is_a_sure_change(text: str, *, is_sure: bool) -> None:
    """With the thing between the verb and its new place or time."""
    assert read(text).sure_change is is_sure


def test_what_the_model_is_sure_of_closes_though_the_value_left_is_named() -> None:
    """The floor of a value left alone closes nothing, see `test_abandoned_values`."""
    older, newer = "Our CI runs on Jenkins", "We moved our CI from Jenkins to Buildkite"
    assert decided(said(newer, 9), said(older), cosine=0.9)[0].closes
    assert not decided(said(newer, 9, session=1), said(older, session=1), cosine=0.9)[0].closes


def test_a_return_in_one_session_revives_the_older_value() -> None:
    """It is told a minute after the change that it takes back."""
    first, between = said("We use Redux", session=1), said("We use Zustand instead of Redux", session=1)
    found = decided(said("We went back to Redux", session=1), first, between, cosine=0.8)
    assert found[0].revives
    assert found[1].relation == "UPDATES"
