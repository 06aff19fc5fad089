"""Names in a PromQL expression: metrics with the labels they are selected by, and labels of groupings.

It is no parser of the whole language: a query that it cannot split into known tokens is refused.
"""

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""\s+ | (?P<string>"(?:[^"\\]|\\.)*") | (?P<range>\[[^\]]*\]) | (?P<number>\d+(?:\.\d+)?[smhdwy]?)
    | (?P<name>[A-Za-z_:][A-Za-z0-9_:]*) | (?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^<>=(){},])""",
    re.VERBOSE,
)
_LISTS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_WORDS = {"and", "or", "unless", "bool", "offset"}
_FUNCTIONS = {
    "absent", "changes", "clamp_min", "histogram_quantile", "increase", "max", "min", "rate", "sum", "time",
}  # fmt: skip


@dataclass
class Names:
    """What an expression names."""

    selected: list[tuple[str, set[str]]] = field(default_factory=list)
    """Each metric, with the labels of its matchers."""
    grouped: set[str] = field(default_factory=set)
    """Labels of `by`, `on` and their like."""


def names_in(expression: str) -> Names:
    """The names; ValueError: the expression has something unknown."""
    tokens, found, at = _tokens(expression), Names(), 0
    while at < len(tokens):
        kind, text = tokens[at]
        following = tokens[at + 1][1] if at + 1 < len(tokens) else ""
        at += 1
        if kind != "name" or text in _WORDS:
            continue
        if text in _LISTS and following == "(":
            end = _closing(tokens, at, ")")
            found.grouped |= {name for sort, name in tokens[at:end] if sort == "name"}
            at = end
        elif following == "(" or text in _FUNCTIONS:
            if text not in _FUNCTIONS:
                raise ValueError(f"unknown function {text!r} in {expression!r}")
        else:
            end = _closing(tokens, at, "}") if following == "{" else at
            labels = {
                tokens[n][1] for n in range(at, end) if tokens[n][0] == "name" and tokens[n + 1][0] == "sign"
            }
            found.selected.append((text, labels))
            at = end
    return found


def _tokens(expression: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if match is None:
            raise ValueError(f"unknown text at {expression[at:]!r}")
        if match.lastgroup:
            tokens.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return tokens


def _closing(tokens: list[tuple[str, str]], start: int, sign: str) -> int:
    """Position after the next closing sign."""
    return next(n for n in range(start, len(tokens)) if tokens[n] == ("sign", sign)) + 1
