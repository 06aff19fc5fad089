"""Exact tokens: what they are, their parts, and linear time."""

from __future__ import annotations

import time

import pytest

from helix_shared.artifacts.lexicon.exact_tokens import MAX_TOKENS, exact_tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see src/auth/login.py:42", ["src/auth/login.py", "auth/login.py", "login.py", "login"]),
        (r"in C:\app\main.rs", ["c:/app/main.rs", "app/main.rs", "main.rs", "main"]),
        ("call get_user(id)", ["get_user", "get", "user"]),
        ("getUserName fails", ["getusername", "get", "user", "name"]),
        ("numpy.linalg.norm", ["numpy.linalg.norm", "numpy", "linalg", "norm"]),
        ("std::vec::Vec", ["std::vec::vec", "std", "vec"]),
        ("my-service-name", ["my-service-name", "service", "name"]),
        ("rustc E0308, TS2345", ["e0308", "ts2345"]),
        ("ERR_CONNECTION_REFUSED", ["err_connection_refused", "err", "connection", "refused"]),
        ("exit with 0x80070005 or ECONNREFUSED", ["0x80070005", "econnrefused"]),
        ("got HTTP 503 once, then a 404 error", ["503", "404"]),
        ("since v1.2.3 and 3.11.4", ["v1.2.3", "1.2.3", "3.11.4"]),
        ("use --no-cache and -rf", ["--no-cache", "-rf"]),
        ("fixes #123 and ABC-123", ["#123", "abc-123"]),
        ("set $HOME and MAX_POOL", ["home", "max_pool", "max", "pool"]),
        ('said "connection reset by peer"', ["connection reset by peer"]),
        ("run `git  rebase`", ["git rebase"]),
        ("edit config.yaml.", ["config.yaml", "config", "yaml"]),
    ],
)
def test_a_name_is_found_with_its_parts(text: str, expected: list[str]) -> None:
    """The whole name in lower case, followed by its parts."""
    assert exact_tokens(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I moved to New York last summer, and he/she said it's well-known and state-of-the-art.",
        "We met at 12:30 p.m. on 2024-05-01 in the U.S. (e.g. downtown), 24/7, for 3.5 stars and $100.",
        "My 20-year-old friend McDonald, Ph.D., has a T-shirt from the mid-1990s; John's PhD costs 50%.",
        "What did Caroline do?! She left... and then - maybe -- came back; isn't that so?",
        "First sentence.Second one without a space, and/or a third: yes",
        "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 私は元気です。",
    ],
)
def test_a_sentence_of_natural_language_has_none(text: str) -> None:
    """Hyphens, slashes, dots, numbers, dates and apostrophes of prose make no exact token."""
    assert exact_tokens(text) == []


def test_tokens_are_distinct_and_bounded() -> None:
    """They are in order of first appearance, at most `MAX_TOKENS`."""
    assert exact_tokens("a_bc A_BC a_bc") == ["a_bc"]
    assert len(exact_tokens(" ".join(f"name_{number}" for number in range(5_000)))) == MAX_TOKENS


HOSTILE = [
    "(",
    "a/",
    "a.",
    "_",
    '"',
    "`a",
    "error ",
    "aB",
    "-",
    "1.",
    "a-",
    ":1",
    "aA.bB-",
    "http   ",
    "v1.1+",
    "“a",
    "0x",
]


@pytest.mark.parametrize("unit", [*HOSTILE, *(f"{piece * 60} " for piece in HOSTILE)])
def test_time_is_linear_in_the_length(unit: str) -> None:
    """Hostile text takes about four times as long when it is four times as long."""

    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        best = float("inf")
        for _ in range(3):
            started = time.thread_time()
            exact_tokens(text)
            best = min(best, time.thread_time() - started)
        return best

    assert seconds(80_000) < 12 * max(seconds(20_000), 0.002)
