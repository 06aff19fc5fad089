"""English time expressions in a text, resolved to UTC windows against a given moment.

Owns the whole way from words to windows: `find_time_expressions` serves ingest (relative dates of a turn
become event times), `resolve_window` serves query (the time a question speaks of). Both are pure, linear
in the length of the text, and never raise on any text. Inside: `words`, `cues` and `verbs`
(vocabulary), `windows` (calendar arithmetic), `reading` (what rules share), `clause` and `tense` (which
occurrence a date means), `dates`, `ordinals`, `relative` and `counted` (the rules), `simple` and `composed`
(one rule, or one time hung on another), `scan` (the walk through a text), `ranges` ("from A to B"), `find`
and `question` (the two doors).

Conventions, where English leaves a choice:

* Days, weeks (from Monday), months are those of the zone that is given, else of the reference's own; a naive
  reference is UTC.
* "N units ago / from now / later", "in N units": the whole calendar unit N steps away, so "two weeks ago"
  is a week and "a year ago" a year. "A few" covers 2 to 4 units, "several" 3 to 7.
* "last / next <weekday, month, season>": the nearest one wholly before / starting after the reference
  (for a weekday: the reference's day excluded). "this <...>": the one of the current week or year.
* "last / this / next <week, month, quarter, year, weekend>": calendar units. "The past month", "in the
  last month", "the next three days": rolling, ending or starting at the reference.
* A date without a year, a day without a month, or a weekday without last / next goes by the tense of its
  clause: behind the reference in the past tense, ahead of it in the present and future tense, for orders and
  for plans ("decided to launch on"). "Since" looks back; "until" and "by" without a past tense look ahead.
  A sentence without a verb is ahead if it names an appointment ("Dentist on 2 April"): a guess, labelled so.
  Else, and for habits, the date is open: its window is the nearest past one, `certainty` says "open".
* "N units before X": the N-th unit counted back from the start of X ("the week before 9 June" is
  2 to 8 June); "after" counts on from its end. "Early", "mid", "late", "end of" do not narrow.
* "The third week of May" is its days 15 to 21; "the second weekend" has the second Saturday.
* Seasons are northern and meteorological; winter 2022 starts in December 2022. Morning is 5-12 h,
  afternoon 12-17 h, evening 17-24 h, night 18-6 h.
"""

from helix_shared.timex.expression import EARLIEST, LATEST, Certainty, TimeExpression
from helix_shared.timex.find import find_time_expressions
from helix_shared.timex.question import resolve_window

__all__ = ["EARLIEST", "LATEST", "Certainty", "TimeExpression", "find_time_expressions", "resolve_window"]
