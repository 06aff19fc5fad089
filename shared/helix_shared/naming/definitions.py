"""Names that a text defines: functions, types and options of source code, in the common languages.

It reads line by line the keywords that languages share. A parser of each language would not do: what is
remembered is a piece of a file, a tool's output or code inside a message. A use of a name does not define it,
nor does an assignment: settings change, and what they are is for the life of a memory to tell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NAMES: Final = 64
TITLE_CHARACTERS: Final = 200
LINE_CHARACTERS: Final = 300
"""Longer lines are data."""

_NAME: Final = r"[A-Za-z_$][\w$]{0,99}"
QUALIFIED_NAME: Final = re.compile(rf"{_NAME}(?:(?:::|->|[.#]){_NAME}){{0,9}}")
"""A name, or one within others: `Parser`, `Config.getoption`, `std::vector`."""
_WHOLE_NAME: Final = re.compile(_NAME)
_SEPARATOR: Final = re.compile(r"::|->|[.#]")
_MODIFIERS: Final = (
    "abstract|async|case|const|data|declare|default|export|extern|final|inline|internal|local|open|"
    "override|partial|private|protected|pub|public|sealed|static|unsafe|virtual|(?i:create|or replace)"
)
_KEYWORDS: Final = (
    "class|def|defp|enum|fn|fun|func|function|interface|macro|message|module|mod|namespace|object|protocol|"
    "record|rpc|service|struct|sub|trait|type|union|macro_rules!|(?i:procedure|table|view)"
)
_BY_KEYWORD: Final = re.compile(
    rf"(?:(?:{_MODIFIERS})(?:\([a-z ]{{1,20}}\))? )*(?P<keyword>{_KEYWORDS})\*? (?:\([^()]{{0,80}}\) )?"
    rf"(?:(?i:if not exists) )?(?P<name>{_NAME})(?P<next>.{{0,20}})"
)
_AFTER_A_NAME: Final = re.compile(r" ?[(<\[{:;=]| (?i:extends|implements|where|as|is|returns)\b")
_MACRO: Final = re.compile(rf"#define ({_NAME})")
_BOUND: Final = re.compile(
    rf"(?:(?:{_MODIFIERS}) )*(?:const|let|var|val) ({_NAME}) ?(?:: ?[^=]{{1,60}})?= ?"
    rf"(?:async |function\b|\(|{_NAME} ?=>|[\w.]{{1,60}}\()"
)
"""A function, or what a call makes; a number or a text is a setting."""
_CONTROL: Final = "catch do elif else for foreach function if loop new return switch try until while with"
_NO_METHOD: Final = frozenset(_CONTROL.split())
_OPTION: Final = re.compile(
    r"(?:option|argument|flag)s?\(\s*((?:[\"'][^\"'\n]{1,80}[\"'],?\s{0,80}){1,4})", re.IGNORECASE
)
_LONG_OPTION: Final = re.compile(r"--[A-Za-z][\w-]{1,60}")
_GO_FLAG: Final = re.compile(r"\bflag\.[A-Z]\w{1,20}\((?:&\w{1,60}, ?)?\"([a-z][\w-]{1,60})\"")
_FILE: Final = re.compile(r"[/\\]|\.[a-z]{1,4}$")


def defined_names(title: str, text: str) -> list[str]:
    """Distinct names that `text` defines, as written, and the one its title says; at most `MAX_NAMES`.

    A method that the title names has its class before it, too (`Config.getoption`); an option has its dashes.
    """
    names: dict[str, None] = {}
    for name in (*_of_title(title), *_of_options(text), *_of_lines(text)):
        names[name] = None
        if len(names) == MAX_NAMES:
            break
    return list(names)


def last_part(name: str) -> str:
    """The last part of a qualified name."""
    return _SEPARATOR.split(name)[-1]


def _of_title(title: str) -> Iterator[str]:
    """`src/config.py::Config.getoption` gives `getoption` and `Config.getoption`."""
    if len(title) > TITLE_CHARACTERS:
        return
    parts = title.strip().split("::")
    while parts and _FILE.search(parts[0]):
        parts = parts[1:]
    name = "::".join(parts)
    if QUALIFIED_NAME.fullmatch(name) is None:
        return
    words = _SEPARATOR.split(name)
    yield words[-1]
    if len(words) > 1:
        yield ".".join(words[-2:])


def _of_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if len(line) > LINE_CHARACTERS:
            continue
        words = " ".join(line.split())
        if (found := _BY_KEYWORD.match(words)) is not None:
            if _is_definition(found):
                yield found["name"]
        elif (found := _BOUND.match(words) or _MACRO.match(words)) is not None:
            yield found[1]
        elif words.endswith("{"):
            yield from _of_method(words)


def _is_definition(found: re.Match[str]) -> bool:
    """Whether what follows the name is code; nothing does in Ruby, whose types are capitalised."""
    if found["next"]:
        return _AFTER_A_NAME.match(found["next"]) is not None
    keyword = found["keyword"]
    return keyword in {"def", "defp"} or (keyword != "type" and found["name"][0].isupper())


def _of_method(words: str) -> Iterator[str]:
    """The name in `public int max(int a, int b) {`; a call with a function in it leaves a bracket open."""
    head, bracket, rest = words.partition("(")
    before = head.replace("*", " ").replace("&", " ").split()
    is_method = bracket and before and rest.count(")") == rest.count("(") + 1 and ";" not in rest
    if is_method and _NO_METHOD.isdisjoint(before) and _WHOLE_NAME.fullmatch(before[-1]):
        yield before[-1]


def _of_options(text: str) -> Iterator[str]:
    for call in _OPTION.finditer(text):
        yield from _LONG_OPTION.findall(call[1])
    for flag in _GO_FLAG.finditer(text):
        yield f"--{flag[1]}"
