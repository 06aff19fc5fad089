"""Names in texts: what is found, how it is spelt, for any input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_shared.naming import canonical, find_names, title_candidates, without_disambiguation
from tests.unit.linear_time import Linear, repeated

MOSTLY_NAMES = st.text(
    alphabet=st.sampled_from("AaéÉ Iio'\u2019s().,:;!?-_/\\`\"#0129\n\tTthe \u0345\u00df\u0130\u3005\u304c"),
    max_size=200,
)


def found(text: str) -> list[tuple[str, str]]:
    """Kind and name of what is found."""
    return [(name.kind, name.name) for name in find_names(text)]


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("The Beatles", "beatles"),
        ("  Caroline's ", "caroline"),
        ("Schindler\u2019s List", "schindler's list"),
        ("\u017bu\u0142awski", "zulawski"),
        ("S\u00f8ren Kierkegaard", "soren kierkegaard"),
        ("Ra\u00fal  L\u00f3pez,", "raul lopez"),
        ("STRASSE", "strasse"),
        ("Stra\u00dfe", "strasse"),
        ("\u201cHey Jude\u201d", "hey jude"),
        ("Theodred II (Bishop of Elmham)", "theodred ii (bishop of elmham)"),
        ("(Paris", "paris"),
        ("What's Up, Doc?", "what's up, doc"),
        ("A", "a"),
        ("The The", "the"),
        ("\u304c\u304d", "\u304c\u304d"),
        ("...", ""),
        ("", ""),
    ],
)
def test_names_have_one_spelling(surface: str, expected: str) -> None:
    """Case, accents, quotes, spaces, articles and possessives are folded; letters of other scripts stay."""
    assert expected == canonical(surface)


@given(st.one_of(st.text(max_size=300), MOSTLY_NAMES))
def test_spelling_a_name_twice_changes_nothing(surface: str) -> None:
    """The canonical form is a fixed point, so both sides of a look-up may apply it."""
    once = canonical(surface)
    assert once == canonical(once)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Theodred II (Bishop of Elmham)", "Theodred II"),
        ("Paris", "Paris"),
        ("(500) Days of Summer", "(500) Days of Summer"),
        ("(film)", "(film)"),
    ],
)
def test_a_title_loses_its_closing_parenthesis_only(title: str, expected: str) -> None:
    """Only what disambiguates is cut, never the whole title."""
    assert expected == without_disambiguation(title)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see `NatsBroker` and os.path.join()", [("symbol", "natsbroker"), ("symbol", "os.path.join")]),
        (
            "call my_func, getUser and __init__",
            [("symbol", "my_func"), ("symbol", "getuser"), ("symbol", "__init__")],
        ),
        ("std::vec::Vec", [("symbol", "std::vec::vec")]),
        ("use --dry-run and MAX_RETRIES=5", [("symbol", "--dry-run"), ("symbol", "max_retries")]),
        ("in src/auth/login.py:42 now", [("path", "src/auth/login.py")]),
        (
            "edit ~/.bashrc, /etc/hosts and Dockerfile",
            [("path", "~/.bashrc"), ("path", "/etc/hosts"), ("path", "dockerfile")],
        ),
        (r"open C:\Users\me\notes.txt", [("path", r"c:\users\me\notes.txt")]),
        ("at https://Example.com/a/?q=1.", [("path", "example.com/a")]),
        ("error[E0308] and TS2345", [("error", "e0308"), ("error", "ts2345")]),
        ("got ERR_CONN_REFUSED then ENOENT", [("error", "err_conn_refused"), ("error", "enoent")]),
        ("requests.exceptions.ConnectionError: refused", [("error", "connectionerror")]),
        ("it said HTTP 503, then status code 404", [("error", "http 503"), ("error", "http 404")]),
        ("a 502 Bad Gateway", [("error", "http 502")]),
        ("it ended with exit code 137", [("error", "exit 137")]),
        ("since v1.2.3 and numpy==2.1.0", [("version", "1.2.3"), ("version", "numpy 2.1.0")]),
        ("needs version 3.11", [("version", "3.11")]),
        ("with Python 3.11 only", [("name", "python"), ("version", "python 3.11")]),
        ("took about 3.5 seconds, or Total 2.5 %", [("name", "total")]),
        (
            "fixes PROJ-12, #99 and acme/api#7",
            [("issue", "proj-12"), ("issue", "#99"), ("issue", "acme/api#7")],
        ),
        ("in pull request 4711", [("issue", "#4711")]),
        ("commit a1b2c3d4e5", [("symbol", "a1b2c3d4e5")]),
        ("it's and/or, e.g. 5 km/h or name(s)", []),
    ],
)
def test_software_is_named(text: str, expected: list[tuple[str, str]]) -> None:
    """Paths, symbols, versions, errors and issues are found by their shape, prose is not."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was on 8 May 2023.", ["2023-05-08"]),
        ("It was on May 8th, 2023.", ["2023-05-08"]),
        ("It was on 2023-05-08T10:00:00Z.", ["2023-05-08"]),
        ("It was in May 2023.", ["2023-05"]),
        ("It was in 2023.", ["2023"]),
        ("He (1946) left on 31 February 2020.", ["1946", "2020-02"]),
        ("It costs 2023 dollars.", []),
    ],
)
def test_dates_are_named_in_iso_form(text: str, expected: list[str]) -> None:
    """A day, a month or a year, as exact as it was written; an impossible day is only a month."""
    assert expected == [name for kind, name in found(text) if kind == "date"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Melanie: Hey Caroline! How are you?", ["melanie", "caroline"]),
        ("Thanks, Mel! Good to see you.", ["mel"]),
        ("I went to the LGBTQ support group yesterday", ["lgbtq"]),
        (
            "Theodred II (Bishop of Elmham) was a bishop.",
            ["theodred ii (bishop of elmham)", "theodred ii", "bishop of elmham"],
        ),
        ("He met J. R. R. Tolkien and Dr. Smith.", ["j. r. r. tolkien", "dr. smith"]),
        ("She moved to Paris, France.", ["paris", "france"]),
        ("The University of the Arts is in London.", ["university of the arts", "london"]),
        ("Schindler's List is a film.", ["schindler's list", "schindler"]),
        (
            "They saw Hallmark's Christmas Movie.",
            ["hallmark's christmas movie", "hallmark", "christmas movie"],
        ),
        ("Running tests failed. However, Monday was fine.", []),
        ("See you on Monday 30 Nov, or Sat 5th December, with Ada", ["ada"]),
        ("May 5th is Ada's day; The 1975 play.", ["ada", "1975"]),
        ("New York's fine. New Redis is slow.", ["new york", "redis"]),
        ("Caroline said so.", ["caroline"]),
        ("Ludwig van Beethoven wrote it", ["ludwig van beethoven"]),
        ('the song "hello" and "Hey Jude" played', ["hey jude", "jude"]),
        ("Apollo 11 landed", ["apollo 11"]),
        ("Who made Polish-Russian War (Film)?", ["polish-russian war (film)", "polish-russian war"]),
        (
            "It\u2019s Greta\u2019s turn. She's Ines. Who's Olaf? Didn't Rui come?",
            ["greta", "ines", "olaf", "rui"],
        ),
        ("We\u2019ve met Greta", ["greta"]),
        ("They saw Who's Afraid twice", ["who's afraid"]),
        ("Tomorrow's Children is a film", ["tomorrow's children"]),
        ("Thats Greta. Whos Olaf? Ive seen Ines. Dont ask Rui", ["greta", "olaf", "ines", "rui"]),
        ("Van Gogh met Al Gore in La Paz or LA", ["van gogh", "al gore", "la paz", "la"]),
        ("Der Kater sah den Hund. Den Hund?", ["kater", "hund", "hund"]),
        ("Greta works at Acme\nOlaf lives in Leeds\n\nRui too", ["greta", "acme", "olaf", "leeds", "rui"]),
        ("The whole team of the company meets once a year in New\nYork.", ["new york"]),
        ("Met Greta. Saw Olaf. Replace Kafka. Emailed Rui Matos", ["greta", "olaf", "kafka", "rui matos"]),
        ("Ask Greta (my sister) and Olaf (who is in Bergen).", ["greta", "olaf", "bergen"]),
        ("Greta (n\u00e9e Lund) left Oakline (until May).", ["greta", "lund", "oakline"]),
        ("THIS IS ALL VERY LOUD AND SAYS NOTHING", []),
        ("He met McDonald", ["mcdonald"]),
    ],
)
def test_proper_names_are_found(text: str, expected: list[str]) -> None:
    """Runs of capitalised words, without sentence openers, weekdays and shouting."""
    assert expected == [name for _, name in found(text)]


def test_a_name_has_its_position() -> None:
    """The span cuts the surface out of the text."""
    text = "Hey Caroline, read src/a.py"
    assert [(n.surface, n.span) for n in find_names(text)] == [("Caroline", (4, 12)), ("src/a.py", (19, 27))]


def test_a_lower_case_title_is_a_candidate() -> None:
    """Any stretch of up to eight words may be a title, punctuation inside included."""
    candidates = title_candidates("who directed what's up, doc?")
    assert "what's up, doc" in candidates
    assert candidates[0] == "who directed what's up, doc"
    assert "who" not in candidates
    assert title_candidates("It?") == ["it"]


def test_no_candidate_is_longer_than_eight_words() -> None:
    """Eight words are the longest title that is looked up."""
    candidates = title_candidates("one two three four five six seven eight nine")
    assert candidates[0] == "one two three four five six seven eight"
    assert max(len(candidate.split()) for candidate in candidates) == 8


@given(st.one_of(st.text(max_size=400), MOSTLY_NAMES))
def test_no_text_breaks_name_finding(text: str) -> None:
    """For any text the answer is the same twice, spans are inside it, names are canonical."""
    names = find_names(text)
    assert names == find_names(text)
    for name in names:
        start, end = name.span
        assert text[start:end] == name.surface
        assert name.name
    assert title_candidates(text) == title_candidates(text)


@pytest.mark.parametrize(
    "piece",
    [
        "A ",
        "/a",
        "a.b.",
        "the 'the ",
        "'s",
        "A's ",
        "A of ",
        "2024-01-01 ",
        'in 2024 "A ',
        "(",
        "a_",
        "A (B ",
    ],
)
def test_time_is_linear_in_the_text(piece: str, linear_functions: Linear) -> None:
    """Up to the longest that the protocol takes."""

    def read(text: str) -> None:
        find_names(text)
        canonical(text)
        title_candidates(text[:4_096])

    assert not linear_functions.failures(read, texts=repeated(piece))


def test_a_contracted_i_is_not_a_name() -> None:
    """Mid-sentence it is as capital as a name."""
    found = [name.name for name in find_names("Well, I'm with Caroline, and I\u2019ve said I'll come.")]
    assert found == ["caroline"]
