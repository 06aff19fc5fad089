"""Whether the words before a date say that somebody booked or obtained what takes place then."""

from __future__ import annotations

from helix_shared.timex import verbs
from helix_shared.timex.clause import read_after, read_before

_HAVE_GOT = frozenset(["i've", "we've", "have", "has"])
_PRONOUNS = frozenset(["it", "that", "this", "them", "one", "these", "those", "up", "in", "back", "online"])


def tells_booked(body: list[str], behind: list[str], cue: str) -> bool:
    """Tell it from the tokens before a date, those behind it, and its preposition.

    "Registered for the marathon on 4 October" and "got tickets for the gig 14 June" do.
    """
    if cue not in ("", "on"):
        return False
    at = next((at for at in reversed(range(len(body))) if body[at] in verbs.OBTAINED), None)
    if at is None or (at and body[at - 1] not in verbs.BOUNDARIES | verbs.OBTAINED_BY):
        return False
    if body[at] == "got" and at and body[at - 1] in _HAVE_GOT:
        # "I've got an interview on 25 April" is the present
        return False
    return _is_ahead(body[at], body[at + 1 :]) and not _is_told(behind)


def _is_ahead(verb: str, thing: list[str]) -> bool:
    """Tell whether what is obtained takes place at a time."""
    if read_before(thing, 0, len(thing), "") is not None or not verbs.LOOK_BACK.isdisjoint(thing):
        return False
    if not verbs.APPOINTMENTS.isdisjoint(thing):
        return True
    return verb in verbs.BOOKED and not verbs.BOUNDARIES.union(verbs.NO_VERBS, _PRONOUNS).issuperset(thing)


def _is_told(behind: list[str]) -> bool:
    """Tell whether the words behind a date are in the past tense."""
    found = read_after(behind, 0, len(behind))
    return found is not None and found.tense == "past" and found.sure
