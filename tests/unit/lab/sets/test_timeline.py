"""Reading timelines; a line that breaks the form is refused with file and line."""

from pathlib import Path

import pytest

from helix_lab.sets.load import of_timelines
from helix_lab.sets.months.timeline import Relation, Timeline, read_timeline, timelines_in
from helix_shared.errors import InvalidInputError

EVENTS = """# a plumber and an assistant
== events
2025-03-03 s01
001 09:00 user: the boiler job for Mrs Adeyemi is on friday {adeyemi=2025-03-07; price=320}
002 09:01 assistant: Noted.\\nAt what price? {adeyemi=2025-03-07}
2025-03-05 s02
003 18:30 Bo Li: she moved it, monday. 340 if she wants the tap too {adeyemi=2025-03-10; price=340?}
"""
QUESTION = "q01 | current | 2025-03-06T08:00 | when do I fix the heating? | 10 March 2025 | 003 002:1 | 001\n"
NOBODY = "q02 | abstain | 2025-03-06T08:00 | which brand is the boiler? | never said | |\n"


def written(folder: Path, text: str) -> Path:
    """A timeline as a file."""
    file = folder / "plumber.txt"
    file.write_text(text, encoding="utf-8")
    return file


def read(folder: Path, text: str) -> Timeline:
    """A timeline as it is read."""
    return read_timeline(written(folder, text))


def test_a_timeline_has_events_values_relations_and_questions(tmp_path: Path) -> None:
    """Ids and sessions start with the name of the file."""
    told = read(tmp_path, f"{EVENTS}== relations\n003 updates 001\n== questions\n{QUESTION}{NOBODY}")
    assert [turn.id for turn in told.turns] == ["plumber-001", "plumber-002", "plumber-003"]
    assert told.turns[1].text == "Noted.\nAt what price?"
    assert (told.turns[2].speaker, told.turns[2].session) == ("Bo Li", "plumber-s02")
    assert told.turns[2].at.isoformat() == "2025-03-05T18:30:00"
    assert told.turns[2].values == {"adeyemi": "2025-03-10", "price": "340?"}
    assert told.relations == [Relation("plumber-001", "plumber-003", "updates")]
    first, second = told.questions
    assert (first.gold, first.stale) == ({"plumber-003": 2, "plumber-002": 1}, ("plumber-001",))
    assert (second.category, second.gold, second.stale) == ("abstain", {}, ())


def test_timelines_become_one_set(tmp_path: Path) -> None:
    """A tenant each; a question without gold is unanswerable."""
    written(tmp_path, f"{EVENTS}== questions\n{QUESTION}{NOBODY}")
    (tmp_path / "other.txt").write_text(EVENTS, encoding="utf-8")
    (tmp_path / "notes.md").write_text("no timeline", encoding="utf-8")
    data = of_timelines("two", timelines_in(tmp_path))
    assert [document.tenant for document in data.documents] == ["other"] * 3 + ["plumber"] * 3
    assert data.documents[0].timestamp == "2025-03-03T09:00:00Z"
    assert data.relevant == {"plumber-q01": {"plumber-003": 2.0, "plumber-002": 1.0}}
    assert data.stale == {"plumber-q01": {"plumber-001"}}
    assert [question.id for question in data.unanswerable] == ["plumber-q02"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("004 18:29 user: hm", "time goes back"),
        ("005 18:31 user: hm", "must be number 004"),
        ("004 18:31 no colon", "not an event"),
        ("004 25:00 user: hm", "hour must be in"),
        ("004 18:31 user: {price=1}", "no text"),
        ("004 18:31 user: hm {price}", "'price' is not slot=value"),
        ("004 18:31 user: hm {price=}", "'price=' is not slot=value"),
        ("004 18:31 user: hm {price=1; price=2}", "slot price has two values"),
        ("2025-02-30 s03\n004 18:31 user: hm", "day is out of range"),
        ("== answers", "section 'answers' does not follow"),
        ("== questions\n== relations", "section 'relations' does not follow"),
        ("== relations\n001 updates 003", "the newer event comes first"),
        ("== relations\n003 updates 003", "the newer event comes first"),
        ("== relations\n003 replaces 001", "relation 'replaces' is none of"),
        ("== relations\n004 updates 001", "there is no event 004"),
        ("== relations\n003 updates 001\n003 extends 001", "the pair is in an earlier line"),
        ("== relations\n003 updates", "2 fields, not 3"),
    ],
)
def test_a_broken_event_or_relation_is_refused(tmp_path: Path, line: str, reason: str) -> None:
    """With the file and the line."""
    text = f"{EVENTS}{line}\n"
    with pytest.raises(InvalidInputError, match=reason) as raised:
        read(tmp_path, text)
    assert f"plumber.txt:{len(text.splitlines())}" in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("current", "now", "category 'now' is not known"),
        ("2025-03-06T08:00", "tomorrow", "isoformat"),
        ("2025-03-06T08:00", "2025-03-04T08:00", "event 003 is later than the question"),
        ("003 002:1", "", "no event answers the question by itself"),
        ("003 002:1", "003:1", "no event answers the question by itself"),
        ("003 002:1", "009", "there is no event 009"),
        ("003 002:1", "003:3", "gain 3 is neither 1 nor 2"),
        ("| 001", "| 003", "both answers the question and is outdated"),
        ("| 001", "| 1", "there is no event 1"),
        ("| 10 March 2025", "|", "an id, a text and an answer"),
        (" | 001", "", "6 fields, not 7"),
        ("current", "abstain", "nobody answered has gold"),
    ],
)
def test_a_broken_question_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    """With the file and the line."""
    with pytest.raises(InvalidInputError, match=reason) as raised:
        read(tmp_path, f"{EVENTS}== questions\n{QUESTION.replace(old, new)}")
    assert "plumber.txt:9" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("001 09:00 user: hello", "a line before == events"),
        ("== events\n001 09:00 user: hello", "an event before its day"),
        ("== relations\n", "does not follow 'the start'"),
        ("# nothing\n", "has no events"),
        (f"{EVENTS}== questions\n{NOBODY}{NOBODY}", "question q02 is in an earlier line"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """Whatever section is missing."""
    with pytest.raises(InvalidInputError, match=reason):
        read(tmp_path, text)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    """It is named."""
    file = tmp_path / "plumber.txt"
    file.write_bytes(EVENTS.replace("Noted", "Not\u00e9").encode("latin-1"))
    with pytest.raises(InvalidInputError, match=r"plumber\.txt.*not UTF-8"):
        read_timeline(file)


def test_a_long_line_is_read_in_time(tmp_path: Path) -> None:
    """Braces and blanks repeat."""
    long = "{ a " * 5_000
    with pytest.raises(InvalidInputError, match="not slot=value"):
        read(tmp_path, f"== events\n2025-03-03 s01\n001 09:00 user: {long}{{b}}\n")
    told = read(tmp_path, f"== events\n2025-03-03 s01\n001 09:00 user: {' ' * 20_000}x\n")
    assert told.turns[0].text.strip() == "x"
