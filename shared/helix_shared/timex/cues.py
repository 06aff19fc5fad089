"""Words before an expression that confirm or exclude it; the rules look them up."""

from __future__ import annotations

YEAR_CUES = frozenset([
    "in", "since", "by", "during", "before", "after", "until", "till", "of", "from", "between", "year",
    "early", "late", "mid", "mid-", "through",
])  # fmt: skip
# these also introduce amounts ("from 1800 to 1650"), so a year after them must be in 1900 to 2099
AMOUNT_CUES = frozenset(["by", "of", "from", "before", "after", "until", "till", "between", "through"])
MONTH_CUES = YEAR_CUES - {"year"} | {"around", "for"}
SEASON_CUES = frozenset(
    ["in", "since", "during", "over", "by", "until", "till", "early", "late", "mid", "mid-"]
)
DAY_CUES = frozenset(
    ["on", "by", "since", "until", "till", "before", "after", "from", "between", "of", "for"]
)
WEEKDAY_CUES = DAY_CUES | {"and", "to"}
# phrases that mean one of the cues above
PHRASES = {
    "prior to": "before", "earlier than": "before", "older than": "before", "up to": "until",
    "later than": "after", "newer than": "after",
}  # fmt: skip
ROLLING_CUES = frozenset(["in", "over", "during", "within", "for", "throughout"])

# short forms that are no other word, so they need neither a capital nor a cue
CLEAR_WEEKDAYS = frozenset(["tue", "tues", "thu", "thur", "thurs", "fri"])
# months that are also verbs; in lower case they count only where a verb is impossible
VERBS = frozenset(["may", "march", "mar"])
NO_VERB_AFTER = frozenset(["in", "since", "during", "until", "till", "of", "early", "late", "mid", "mid-"])
DETERMINERS = frozenset(["the", "our", "their", "his", "her", "my", "your", "a"])

# "every Friday" is many days, "Black Friday" a name, "the second Friday of" depends on a month
NO_SINGLE_DAY = frozenset([
    "every", "each", "any", "most", "all", "some", "a", "one", "black", "good", "cyber", "fat",
    "first", "second", "third", "fourth", "fifth", "last",
])  # fmt: skip

# "finished in 2 days", "twice in a week": a duration, not a time
LENGTH_BEFORE_IN = frozenset([
    "finished", "finishes", "completed", "completes", "done", "failed", "ran", "runs", "run", "built",
    "returned", "returns", "took", "passed", "solved", "fixed", "ended", "loads", "loaded", "responds",
    "responded", "scanned", "executed", "once", "twice", "times", "days", "hours", "minutes", "seconds",
    "weeks", "months",
])  # fmt: skip

# with "from" behind one of these, what follows is the old time, and the new one comes behind "to"
MOVING = frozenset([
    "moved", "shifted", "changed", "rescheduled", "postponed", "pushed", "delayed", "switched", "move",
    "change", "rebooked", "bumped",
])  # fmt: skip

# after one of these and "from" a date begins a period; after other words it is an origin, as of photos
OPENS_A_STRETCH = frozenset([
    "starting", "beginning", "effective", "valid", "away", "off", "closed", "open", "free", "out",
    "busy", "available", "unavailable", "apply", "applies", "applied", "runs", "running", "ran",
    "lasts", "starts", "begins", "leave", "holiday", "vacation", "scheduled", "planned", "booked",
    "as", "home", "effect",
])  # fmt: skip

# after these a capitalised day is a title: "the Beatles wrote Yesterday"
NAMES_A_WORK = frozenset([
    "wrote", "writes", "sang", "sings", "sing", "titled", "entitled", "named", "song", "film", "movie",
    "album", "novel", "book", "watched", "watching", "series", "show", "episode",
])  # fmt: skip
