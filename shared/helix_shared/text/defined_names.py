"""Names that a text defines: functions, types and options of source code, in the common languages.

It reads line by line, by the keywords of the languages and what must follow a name there: many of the
keywords are English words, too ("class trip is on Friday", "type A"). A parser of each language would not do:
what is remembered is a piece of a file, a tool's output or code inside a message. A use of a name does not
define it, nor does a value that is assigned: settings change, and the life of a memory tells what they are.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NAMES: Final = 64
LINE_CHARACTERS: Final = 300
"""Longer lines are data."""

NAME: Final = r"[A-Za-z_$][\w$]{0,99}"
LONG_OPTION: Final = re.compile(r"--[A-Za-z][\w-]{1,60}")

_MODIFIER: Final = (
    r"(?:(?:abstract|async|case|const|data|declare|default|export|extern|final|inline|internal|local|open|"
    r"override|partial|private|protected|pub|public|sealed|static|typedef|unsafe|virtual)"
    r"(?:\([a-z ]{1,20}\))? )*"
)
_GENERIC: Final = r"(?:<[^<>]{0,60}>)?"


def _forms(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?:{pattern.replace('NAME', f'({NAME})')})" for pattern in patterns))


_DEFINITION: Final = _forms(
    rf"{_MODIFIER}defp? (?:self\.)?NAME[?!]?(?:[(\[:;{{]| [={{])",
    rf"{_MODIFIER}(?:fn|func|fun) (?:<[^<>]{{1,60}}> )?(?:\([^()]{{0,80}}\) )?(?:\w{{1,60}}\.)?NAME[(<\[]",
    rf"{_MODIFIER}function\*? NAME{_GENERIC}(?:\(| ?\(.{{0,200}}\{{$| ?\{{$)",
    rf"{_MODIFIER}class NAME(?:[(<]|:$|: (?:pass|\.\.\.)$| (?:extends|implements) | < [A-Z]|.{{0,200}}\{{$)",
    rf"{_MODIFIER}(?:struct|enum(?: class)?|trait|interface|union|namespace|protocol|record|object|message|"
    r"service|sub|module|mod) NAME.{0,200}\{$",
    rf"{_MODIFIER}(?:struct|record|interface) NAME[(<]",
    rf"{_MODIFIER}type NAME{_GENERIC} (?:=|struct\b|interface\b|func\()",
    r"rpc NAME\(",
    r"(?i:create (?:or replace )?(?:temp |temporary |materialized |unique )?"
    r"(?:table|view|function|procedure|type|index|trigger) (?:if not exists )?)"
    r"(?:[\"`\[]?\w{1,60}[\"`\]]?\.)?[\"`\[]?NAME[\"`\]]?(?: ?\(| (?i:as|on|returns|using|before|after)\b)",
    r"macro_rules! NAME",
    r"#define NAME",
    rf"{_MODIFIER}(?:const|let|var|val) NAME ?(?:: ?[^=]{{1,60}})?= ?"
    r"(?:async |function\b|[(<]|\w{1,60} ?=>)",
)
_BLOCK: Final = _forms(rf"{_MODIFIER}def (?:self\.)?NAME[?!]?$", r"(?:class|module) (?=[A-Z])NAME$")
"""In Ruby; the next line stands deeper."""
_MADE: Final = _forms(rf"{_MODIFIER}(?:const|let|var|val) NAME ?= ?[\w.]{{1,60}}\(")
"""What a call makes, not inside of anything: a store, a router."""
_METHOD: Final = re.compile(rf"(?:[\w$]{{1,60}}::)?(~?{NAME})")
_CONTROL: Final = (
    "assert await catch do elif else for foreach function guard if lock loop match new repeat return select "
    "switch synchronized throw try unless until using when while with yield"
)
_NO_METHOD: Final = frozenset(_CONTROL.split())
_OPTION: Final = re.compile(
    r"(?:option|argument|flag)s?\(\s*((?:[\"'][^\"'\n]{1,80}[\"'],?\s{0,80}){1,4})", re.IGNORECASE
)
_GO_FLAG: Final = re.compile(r"\bflag\.[A-Z]\w{1,20}\((?:&\w{1,60}, ?)?\"([a-z][\w-]{1,60})\"")


def defined_names(text: str) -> list[str]:
    """Distinct names that `text` defines, as written, at most `MAX_NAMES`; options have their dashes."""
    names: dict[str, None] = {}
    for name in (*_of_options(text), *_of_lines(text)):
        names[name] = None
        if len(names) == MAX_NAMES:
            break
    return list(names)


def _of_lines(text: str) -> Iterator[str]:
    for line, below in pairwise([*text.splitlines(), ""]):
        if len(line) > LINE_CHARACTERS:
            continue
        words = " ".join(line.split())
        if below.lstrip().startswith("{") and not words.endswith(("{", ";")):
            words += " {"
        found = _DEFINITION.match(words)
        if found is None and _indent(below) > _indent(line):
            found = _BLOCK.match(words)
        if found is None and not _indent(line):
            found = _MADE.match(words)
        if found is not None:
            yield next(filter(None, found.groups()))
        elif words.endswith("{"):
            yield from _of_method(words)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _of_method(words: str) -> Iterator[str]:
    """The name in `public int max(int a, int b) {`; a call with a function in it leaves a bracket open."""
    head, _, rest = words.partition("(")
    before = head.replace("*", " ").replace("&", " ").split()
    is_adjacent = bool(before) and head.endswith(before[-1])
    is_method = is_adjacent and rest.count(")") == rest.count("(") + 1 and ";" not in rest
    if is_method and _NO_METHOD.isdisjoint(before) and (found := _METHOD.fullmatch(before[-1])):
        yield found[1]


def _of_options(text: str) -> Iterator[str]:
    for call in _OPTION.finditer(text):
        yield from LONG_OPTION.findall(call[1])
    for flag in _GO_FLAG.finditer(text):
        yield f"--{flag[1]}"
