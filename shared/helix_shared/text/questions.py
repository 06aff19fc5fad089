"""Questions of an agent about its user that ingest and the profile both read: their answers state a fact."""

from __future__ import annotations

from typing import Final

SCHEDULE_ASKED: Final = (
    r"\b(?:what(?:['\u2019]s| is| are) your (?:(?:current|new|usual|regular|weekly|work|working) ){0,2}"
    r"(?:rota|roster|shifts?|schedule|hours|timetable)(?: (?:now|at work))?"
    r"|(?:which|what) (?:days|hours|shifts) (?:do you work|(?:are you|will you be) (?:on|in|working)))\?"
)
"""When somebody works, in lower case or any: "What's your current rota?", "Which days will you be on?"."""
