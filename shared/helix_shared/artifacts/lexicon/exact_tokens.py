"""Exact tokens: names that must match letter by letter, such as paths, symbols, codes and versions.

Documents and queries use the same function. An English compound with hyphen or slash, a plain number, a date
and an abbreviation are not exact tokens. Every regular expression here takes linear time, and pieces longer
than `PIECE_CHARACTERS` are skipped, so hostile text costs no more than its length.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.lexicon.languages import holds_unspaced
from helix_shared.text.scripts import HANGUL, UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TOKENS: Final = 512
PIECE_CHARACTERS: Final = 256

_ENDS: Final = (
    r"\s()\[\]{}<>,;\"'`|=*&^!?\u2018\u2019\u201c\u201d"
    r"\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0c\uff1a-\uff1f\uff3b-\uff3d\uff5b-\uff65"
)
"""Quotes, brackets and punctuation, Chinese and Japanese included, that are not part of a name."""
_PIECE = re.compile(f"[^{_ENDS}]+")
_PIECE_AMONG = re.compile(f"[^{_ENDS}{UNSPACED}{HANGUL}]+")
"""The same for names in a text without spaces."""
_QUOTED = re.compile(
    r"\"([^\"\n]{2,64})\"|\u201c([^\u201c\u201d\n]{2,64})\u201d|`([^`\n]{2,64})`"
    r"|\u300c([^\u300c\u300d\n]{2,64})\u300d|\u300a([^\u300a\u300b\n]{2,64})\u300b"
)
_NUMBERED = re.compile(
    r"\b(?:http|status|error|code|exit|errno|signal|sqlstate)[\s:=#]{1,3}(\d{2,5})\b"
    r"|\b(\d{3})\s(?:error|status)\b",
    re.IGNORECASE,
)
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_LINE_SUFFIX = re.compile(r"(?::\d{1,7}){1,2}$")
_HEX = re.compile(r"0x[0-9A-Fa-f]{2,}$")
_COMMIT = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}$")
_VERSION = re.compile(
    r"(?:v\d{1,8}(?:\.\d{1,8}){0,5}|\d{1,8}(?:\.\d{1,8}){2,5})(?:[-+.][0-9A-Za-z.]{1,32})?$"
)
_FLAG = re.compile(r"(?:--[A-Za-z][\w-]*|-[A-Za-z]{1,2})$")
_ISSUE = re.compile(r"(?:#\d{1,9}|[A-Z][A-Z0-9]{1,9}-\d{1,9}|[A-Z]{2,10}-\d{4}-\d{2,9})$")
_ERROR_CODE = re.compile(r"[A-Z]{1,6}\d{3,6}$")
_VARIABLE = re.compile(r"\$[A-Za-z_]\w*$")
_LANGUAGE = re.compile(r"[A-Za-z](?:\+\+|#)$")
_SNAKE = re.compile(rf"{_WORD}$")
_DOTTED = re.compile(rf"\.?{_WORD}(?:\.{_WORD}|\.\d{{1,4}})*(?:\.[A-Za-z][A-Za-z0-9]*)?$")
_SCOPED = re.compile(rf"{_WORD}(?:::{_WORD})+$")
_KEBAB = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+$")
_CAMEL_STEP = re.compile(r"[A-Za-z0-9][a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_BETWEEN_WORDS = re.compile(r"[^A-Za-z0-9]+")
_DECADE = re.compile(r"\d{2,4}s$")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")

_MANY_PATH_PARTS: Final = 3
_SHORTEST_PART: Final = 3
_ERROR_NAMES: Final = frozenset((*errno.errorcode.values(), "ENOTFOUND", "ERESOLVE", "EAI_AGAIN"))
# a compound with one of these words is English ("state-of-the-art"), not a name
_JOINING_WORDS: Final = (
    "a an and as at by for from i in into it no not of off on or out the to up with you old day year"
)
_JOINERS: Final = frozenset(_JOINING_WORDS.split())


def exact_tokens(text: str) -> list[str]:
    """Distinct exact tokens of a text in order of appearance, in lower case, at most `MAX_TOKENS`.

    A token is followed by its parts: the tails of a path, the words of a symbol.
    """
    tokens: dict[str, None] = {}
    for token in _found(text):
        tokens[token.lower()] = None
        if len(tokens) >= MAX_TOKENS:
            break
    return list(tokens)


def _found(text: str) -> Iterator[str]:
    for match in _pieces(text):
        if match.end() - match.start() <= PIECE_CHARACTERS:
            yield from _of_piece(match.group())
    for match in _NUMBERED.finditer(text):
        yield match.group(1) or match.group(2)
    for match in _QUOTED.finditer(text):
        phrase = next(group for group in match.groups() if group is not None)
        if folded := " ".join(phrase.split()):
            yield folded


def _pieces(text: str) -> Iterator[re.Match[str]]:
    yield from _PIECE.finditer(text)
    if holds_unspaced(text):
        yield from _PIECE_AMONG.finditer(text)


def _of_piece(piece: str) -> Iterator[str]:
    piece = piece.rstrip(".:,")
    if piece.isalpha() and (piece.islower() or piece.istitle()):
        return
    if "/" in piece or "\\" in piece:
        yield from _of_path(piece.replace("\\", "/"))
        return
    piece = _LINE_SUFFIX.sub("", piece)
    if _VERSION.match(piece):
        yield piece
        if piece.startswith("v"):
            yield piece[1:]
    elif _VARIABLE.match(piece):
        yield from _of_symbol(piece[1:])
    elif _is_code(piece):
        yield piece
    elif is_symbol(piece):
        yield from _of_symbol(piece)


def _is_code(piece: str) -> bool:
    patterns = (_HEX, _COMMIT, _FLAG, _ISSUE, _ERROR_CODE, _LANGUAGE)
    return piece in _ERROR_NAMES or any(pattern.match(piece) for pattern in patterns)


def is_symbol(piece: str) -> bool:
    """Whether a piece is spelt like a symbol: `snake_case`, `camelCase`, `a::b`, `a.b`."""
    if _SNAKE.match(piece):
        return "_" in piece.strip("_") or piece.startswith("__") or _is_camel(piece)
    if _SCOPED.match(piece):
        return True
    if _KEBAB.match(piece):
        return _is_kebab_name(piece)
    return "." in piece and bool(_DOTTED.match(piece)) and _is_dotted_name(piece)


def _is_camel(word: str) -> bool:
    # not "PhD" (too short), "McDonald" and "MacArthur"
    return (
        len(word) > _SHORTEST_PART + 1
        and not word.startswith(("Mc", "Mac"))
        and bool(_CAMEL_STEP.search(word))
    )


def _is_kebab_name(piece: str) -> bool:
    parts = piece.split("-")
    if any(part.lower() in _JOINERS for part in parts):
        return False
    # not a decade ("mid-1990s")
    numbered = any(character.isdigit() for character in piece) and not _DECADE.match(parts[-1])
    return numbered or len(parts) >= _MANY_PATH_PARTS


def _is_dotted_name(piece: str) -> bool:
    # not "e.g", "U.S", "a.m" (parts of one letter) and "end.Then" (a missing space)
    first, *rest = piece.lstrip(".").split(".")
    if not rest:
        return piece.startswith(".") and len(first) > 1
    if len(rest) == 1 and rest[0][0].isupper() and not _is_camel(rest[0]):
        return False
    return len(first) > 1 or len(rest[-1]) > 1


def _of_symbol(symbol: str) -> Iterator[str]:
    yield symbol
    words = [word for part in _BETWEEN_WORDS.split(symbol) for word in _CAMEL_PART.findall(part)]
    if len(words) > 1:
        yield from (word for word in words if len(word) >= _SHORTEST_PART)


def _of_path(path: str) -> Iterator[str]:
    path = _LINE_SUFFIX.sub("", path)
    parts = [part for part in path.split("/") if part]
    if not parts or not any(character.isalpha() for character in path):
        return
    name = parts[-1]
    rooted = path.startswith(("/", "./", "../", "~/", "@")) or path.endswith("/") or ":" in parts[0]
    if not (rooted or _EXTENSION.search(name) or len(parts) >= _MANY_PATH_PARTS or "_" in path):
        return
    yield path
    for count in range(min(_MANY_PATH_PARTS, len(parts) - 1), 0, -1):
        yield "/".join(parts[-count:])
    stem = _EXTENSION.sub("", name)
    if len(stem) >= _SHORTEST_PART:
        yield from _of_symbol(stem)
