"""Which of the times of a text is the one at which it happens: not a denied one, and the new one of two.

"I can't make Friday, Saturday instead" happens on Saturday. The clause of a time decides. Where all are
denied, or none is, the first one counts.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from helix_ingest.extraction.likely_day import around, coming, likely_day
from helix_shared.timex import TimeExpression, find_time_expressions

_READ_CHARACTERS: Final = 60
_CLAUSE_END: Final = re.compile(r"[,;:!?\n\u2014]|\.(?=\s|$)| - |\b(?:but|so|and then)\b", re.IGNORECASE)
_NOT: Final = (
    r"\b(?:[a-z]{2,6}n['\u2019]t|(?:ca|wo|do|does|did|is|was|are|were|would|could)nt|cannot|can ?not"
    r"|not|unable|never)"
)
_NEW_BEFORE: Final = re.compile(
    r"(?:\bnew (?:date|day|time|slot|deadline)\b[^.!?\n]{0,20}"
    r"|\b(?:now|instead|rather)(?: be| is| it['\u2019]?s)?(?: (?:on|in|for))?"
    r"|\b(?:moved|shifted|rescheduled|postponed|pushed|put back|brought forward|changed)(?: \w+){0,3}"
    r" (?:to|until|till|for)) (?:the )?$",
    re.IGNORECASE,
)
"""Words before a time that takes the place of another one."""
_NEW_AFTER: Final = re.compile(r"^(?:,? (?:at )?\d[\w:.]*| at \w+)?,? instead\b", re.IGNORECASE)
_DENIED_BEFORE: Final = re.compile(
    # "not on Friday"; "can't make it on Friday", but not "can't come until Friday"
    rf"(?:{_NOT}(?: be)?|\b(?:no longer|nothing|instead of|rather than))(?: (?:on|in|for))?(?: the)? $"
    rf"|{_NOT}(?: (?:be )?able to)?"
    r" (?:make|do|come|be (?:there|here|in|free|around)|manage|attend|meet|work|go|fit)(?: it| that| there)?"
    r"(?: (?:on|for|in))?(?: (?:this|next|the))? $"
    r"|\b(?:scrap|cancel|drop|skip|ditch|forget(?: about)?|call off|rule out|ruled out|strike|scratch"
    r"|no to)"
    r"(?: (?:it|that|us|me))?(?: (?:on|for|in))?(?: (?:this|next|the))? $"
    # "was supposed to be on Friday"
    r"|\b(?:was|were|had been)(?: originally| first)? (?:supposed|meant|due|planned|scheduled|going"
    r"|set|booked|down)\b"
    r"[^.,;!?\n]{0,30} $|\b(?:originally|initially|at first|first planned)\b[^.,;!?\n]{0,30} $",
    re.IGNORECASE,
)
"""Words before a time at which it does not happen."""
_DENIED_AFTER: Final = re.compile(
    r"^(?: (?:at )?\d[\w:.]*)?(?: (?:the|that) \w+)? (?:really |just |unfortunately )?(?:(?:do|does"
    r"|did|wo|would|is|was|are|ca)(?:n['\u2019]?t|nt)"
    r"|(?:do|does|did|will|would|is|was|can) ?not|cannot|wont|no longer)"
    r" (?:really |going to )?(?:works?|suit|do|fit|good|possible|happen\w*|an option|any good|on|free"
    r"|available|convenient)\b"
    r"|^(?: (?:at )?\d[\w:.]*)?(?:['\u2019]s| is| was| got)(?: now| been)? (?:out|off|cancell?ed"
    r"|full(?: up)?$"
    r"|fully booked|booked(?: up| out)?"
    r"|taken|bad|impossible|gone|no good|no longer|too (?:early|late|soon|busy|tight)|a (?:no"
    r"|problem)|tricky|difficult)\b",
    re.IGNORECASE,
)
"""Words after a time at which it does not happen."""


def meant_time(text: str, occurred_at: datetime, *, is_turn: bool = False) -> TimeExpression | None:
    """The time at which what a text says happens; None if it names none of which the day is known.

    A day whose week or year is open counts where it takes the place of a denied one that lies ahead: it is
    the next one then, and guessed. In a turn of a conversation (`is_turn`) a `likely_day` counts.
    """
    found = [time for time in find_time_expressions(text, occurred_at) if time.is_storable]
    denied = [time for time in found if len(found) > 1 and _is_denied(text, time)]
    held = [time for time in found if time not in denied]
    known = [time for time in held if time.certainty != "open"]
    chosen = next((time for time in known if _is_new(text, time)), None) or next(iter(known), None)
    if chosen is None and held and any(time.end > occurred_at for time in denied if time.certainty != "open"):
        chosen = coming(held[0].text, occurred_at)
    chosen = chosen or next((time for time in found if time.certainty != "open"), None)
    if chosen is None and is_turn:
        return likely_day(text, [time for time in found if not _is_denied(text, time)], occurred_at)
    return chosen


def _before(text: str, time: TimeExpression) -> str:
    return around(text, time, _READ_CHARACTERS)[0]


def _after(text: str, time: TimeExpression) -> str:
    behind = around(text, time, _READ_CHARACTERS)[1]
    end = _CLAUSE_END.search(behind)
    return behind[: end.start()] if end else behind


def _is_new(text: str, time: TimeExpression) -> bool:
    return bool(_NEW_BEFORE.search(_before(text, time)) or _NEW_AFTER.match(_after(text, time)))


def _is_denied(text: str, time: TimeExpression) -> bool:
    return bool(_DENIED_BEFORE.search(_before(text, time)) or _DENIED_AFTER.match(_after(text, time)))
