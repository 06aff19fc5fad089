"""English time expressions in a text, resolved to UTC windows against a given moment.

Start with `find` (`find_time_expressions`, used by ingest for the event times of a turn) and `question`
(`resolve_window`, used by query for the time that a question names). Both are pure, linear in the length of
the text, and never raise on any text. `words` (also counts such as "a few"), `cues` and `verbs` are the
vocabulary, `windows` the calendar arithmetic, `reading` what the rules share, `clause`, `booked` and `tense`
decide which occurrence a date means, and `rules/` holds the rules. May import the top-level modules of
`helix_shared` only.

Conventions for ambiguous English:

* Days, weeks (from Monday) and months are those of the given zone, else of the zone of the reference; a naive
  reference is UTC.
* "N units ago / from now / later", "in N units": the whole calendar unit N steps away, so "two weeks ago"
  is a week and "a year ago" a year. "A few" covers 2 to 4 units, "several" 3 to 7.
* "last / next <weekday, month, season>": the nearest one that ends before / starts after the reference (for a
  weekday: not the day of the reference). "this <...>": the one of the current week or year.
* "last / this / next <week, month, quarter, year, weekend>": calendar units. "The past month", "in the
  last month", "the next three days": rolling, ending or starting at the reference.
* For a date without a year, a day without a month, or a weekday without last / next, the tense of its clause
  decides: before the reference in the past tense; after it in the present and future tense, in commands and
  in plans ("decided to launch on"). "Since" means the past; "until" and "by" without a past tense the future.
  In a sentence without a verb that names an appointment ("Dentist on 2 April") it is in the future, and
  `certainty` is "guessed". Otherwise, for habits, and for the season or month of a rule ("people should drink
  more in summer"), it is the nearest past one, and `certainty` is "open".
* "N units before X": the N-th unit counted back from the start of X ("the week before 9 June" is
  2 to 8 June); "after" counts forward from its end. "Early", "mid", "late", "end of" do not narrow.
* "The third week of May" is its days 15 to 21; "the second weekend" has the second Saturday.
* "Friday the 13th" is the next or last day that is both; "by the end of the month" is this month. "'98" and
  "on 13/04/24" are the latest such years up to ten years ahead. "3/4/2024" could be two days and is none,
  unless a date beside it is written in the same way and tells ("3/4/2024 to 30/4/2024").
* Seasons are northern and meteorological; winter 2022 starts in December 2022. Morning is 5-12 h,
  afternoon 12-17 h, evening 17-24 h, night 18-6 h.
"""

from helix_shared.timex.expression import EARLIEST, LATEST, Certainty, TimeExpression
from helix_shared.timex.find import find_time_expressions
from helix_shared.timex.question import resolve_window

__all__ = ["EARLIEST", "LATEST", "Certainty", "TimeExpression", "find_time_expressions", "resolve_window"]
