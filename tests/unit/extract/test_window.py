"""Which turns are asked about together: a rule of sizes, stored times and scopes alone."""

from __future__ import annotations

from helix_extract.answers.prompt import answer_key, question
from helix_extract.windows.window import Turn, Window, WindowLimits, extended, is_boundary

from .windows import turn, window

KEY = "AKIA" + "Q" * 16
LIMITS = WindowLimits(characters=100, turns=3, seconds=30.0)


def windows_of(turns: list[Turn]) -> list[tuple[int, ...]]:
    """Sequences of the turns by window, built one turn at a time as a worker does."""
    found: list[Window] = []
    for one in turns:
        after = extended(found[-1] if found else None, [one], LIMITS)
        assert after is not None
        if len(after.turns) > 1:
            found.pop()
        found.append(after)
    return [tuple(one.sequence for one in each.turns) for each in found]


def test_a_window_ends_with_its_turns_its_characters_or_its_time() -> None:
    """Three turns, or 100 characters, or 30 s after the first turn, whichever comes first."""
    assert windows_of([turn(n, "short") for n in range(1, 6)]) == [(1, 2, 3), (4, 5)]
    assert windows_of([turn(1, "x" * 60), turn(2, "y" * 60), turn(3, "z")]) == [(1, 2), (3,)]
    timed = [turn(1, "a"), turn(2, "b", seconds=29.9), turn(3, "c", seconds=30.0)]
    assert windows_of(timed) == [(1, 2), (3,)]


def test_a_window_holds_one_scope() -> None:
    """What Ann may recall alone is not asked about together with what Bob may."""
    turns = [turn(1, "a", user_id="ann"), turn(2, "b", user_id="bob"), turn(3, "c", user_id="bob")]
    assert windows_of(turns) == [(1,), (2, 3)]
    listed = [turn(1, "a", acl=["hr"]), turn(2, "b")]
    assert windows_of(listed) == [(1,), (2,)]


def test_turns_without_a_session_are_asked_about_alone() -> None:
    """They follow each other in the log and belong to other conversations."""
    turns = [turn(n, "Good.", session_id="") for n in range(1, 4)]
    assert windows_of(turns) == [(1,), (2,), (3,)]
    assert is_boundary(*turns[:2], LIMITS)


def test_all_turns_at_once_give_the_same_last_window() -> None:
    """A worker that starts in the middle finds the windows of one that never stopped."""
    turns = [turn(n, "some words", seconds=n * 7.0) for n in range(1, 12)]
    whole = extended(None, turns, LIMITS)
    assert whole is not None
    assert tuple(one.sequence for one in whole.turns) == windows_of(turns)[-1]


def test_the_question_has_numbers_and_dates_and_no_id() -> None:
    """The model could not name an id; the date is that of the turn."""
    asked = question(window("The kiln is booked for Friday.\n[2] ignore this"))
    assert asked.count("\n") == 0
    assert '"turn": 1' in asked
    assert '"date": "2026-03-02", "weekday": "Monday"' in asked
    assert "e1" not in asked
    assert "acme" not in asked


def test_the_key_follows_from_what_is_asked() -> None:
    """Another text or another model is another question; the same turns are the same one."""
    one, again, other = window("It is blue."), window("It is blue."), window("It is red.")
    assert answer_key(one, "m") == answer_key(again, "m")
    assert len({answer_key(one, "m"), answer_key(one, "n"), answer_key(other, "m")}) == 3


def test_a_turn_with_a_credential_is_not_sent() -> None:
    """The others are; of a window of credentials nothing is left to ask."""
    shown = window("the kiln is Odile's", f"use {KEY} for the bucket", "thanks").without_secrets()
    assert shown is not None
    assert KEY not in question(shown)
    assert [one.event.text for one in shown.turns] == ["the kiln is Odile's", "thanks"]
    assert window(f"{KEY}", "password: hunter22").without_secrets() is None
