"""Names of software: paths, symbols, versions, error codes and issue ids, one word at a time.

`classify` reads a single word (without white space and surrounding punctuation), `find_phrases` forms of
several words ("HTTP 503", "pull request #12", "Python 3.11"). Every pattern is anchored to a word of bounded
length, so hostile input costs no more than other input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from helix_shared.naming.form import canonical
from helix_shared.naming.words import FUNCTION_WORDS

Found = tuple[str, str]
"""Kind and canonical name."""

WORD_CHARACTERS: Final = 200
"""A longer word is data, not a name."""

_PLAIN_PREFIXES: Final = frozenset({"utf", "sha", "iso", "rfc", "covid", "md", "ascii", "ieee"})
_ROOT_FOLDERS: Final = (
    "src lib libs app apps test tests docs doc bin etc usr var opt home tmp include scripts packages pkg "
    "cmd internal services config configs public static components node_modules api ops proto"
)
_EXTENSIONS: Final = (
    "py pyi pyx ipynb rs go js jsx ts tsx mjs cjs vue svelte java kt kts scala groovy c h cc cpp cxx hpp cs "
    "fs rb php pl pm lua swift m mm r jl ex exs erl hs ml clj dart sh bash zsh fish ps1 bat sql proto thrift "
    "graphql html htm css scss less xml xsd json jsonl yaml yml toml ini cfg conf env lock md rst txt csv "
    "tsv parquet log pdf doc docx xls xlsx ppt pptx png jpg jpeg gif svg mp3 mp4 zip tar gz whl jar so dll "
    "exe tf hcl nix gradle cmake mk patch diff pem crt key db sqlite"
)
_IDENTIFIER = r"[A-Za-z_$][\w$]*+"
_URL = re.compile(r"(?:https?|ftp|wss?|nats|postgres(?:ql)?|redis)://(?P<rest>\S+)", re.IGNORECASE)
_LINE = re.compile(r"(?::\d+){1,2}$")
_FILE = re.compile(rf"[\w@.+-]*\w\.(?:{_EXTENSIONS.replace(' ', '|')})", re.IGNORECASE)
_DOT_FILE = re.compile(r"\.[a-z][\w-]+(?:\.[\w-]+)*")
_NAMED_FILES: Final = frozenset(
    {"Makefile", "Dockerfile", "Jenkinsfile", "Procfile", "Gemfile", "CODEOWNERS"}
)
_ABSOLUTE = re.compile(r"(?:~|\.{1,2})?/[\w.@+~-]+(?:/[\w.@+~*-]*+)*|[A-Za-z]:\\[\w.@+\\-]+")
_RELATIVE = re.compile(r"[\w@+-][\w.@+-]*(?:/[\w.@+*-]++)+/?|[\w.-]+(?:\\[\w.-]++)+")
_ROOTED = re.compile(rf"(?:{_ROOT_FOLDERS.replace(' ', '|')})/", re.IGNORECASE)
_ISSUE = re.compile(r"(?:[\w.-]+/[\w.-]+)?#\d{1,7}|CVE-\d{4}-\d{3,7}|(?P<key>[A-Z][A-Z0-9]{1,9})-\d{1,6}")
_ERROR_CODE = re.compile(
    r"E\d{3,5}|TS\d{4,5}|[A-Z]{1,4}\d{3,4}|ORA-\d{5}|(?:ERR|ERROR|E)_[A-Z0-9_]{2,60}|[A-Z][A-Z0-9]*_ERROR|"
    r"E(?:NOENT|ACCES|PERM|EXIST|CONNREFUSED|CONNRESET|TIMEDOUT|ADDRINUSE|PIPE|INVAL|MFILE|NOSPC|ISDIR|NOTDIR"
    r"|AGAIN|BUSY|INTR|IO|HOSTUNREACH|NETUNREACH|RESOLVE|LIFECYCLE|NOTEMPTY|BADF|XDEV|ROFS)|"
    r"SIG(?:KILL|SEGV|TERM|ABRT|BUS|INT|HUP|PIPE|ILL|FPE)|NS_ERROR_[A-Z_]+|0x[0-9A-Fa-f]{4,16}"
)
_EXCEPTION = re.compile(
    rf"(?:{_IDENTIFIER}\.)*([A-Z]\w*(?:Error|Exception|Warning|Failure|Fault|Interrupt|NotFound))"
)
_NUMERIC_VERSION = re.compile(r"v?(\d+(?:\.\d+){2,3}(?:[-+.]?[A-Za-z][\w.+-]*)?)|v(\d+(?:\.\d+)?(?:-?\w+)?)")
_PINNED = re.compile(r"([A-Za-z][\w.-]*)(?:\[[\w,]*\])?(?:==|>=|~=|<=|@)v?(\d[\w.+-]*)")
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?")
_CALL = re.compile(rf"({_IDENTIFIER}(?:(?:\.|::|->){_IDENTIFIER})*)(?:\(\)|\(.*)")
_SCOPED = re.compile(rf"{_IDENTIFIER}(?:(?:::|->){_IDENTIFIER})+(?:\(\))?")
_DOTTED = re.compile(rf"@?{_IDENTIFIER}(?:\.{_IDENTIFIER})+")
_SNAKE = re.compile(r"[A-Za-z$][\w$]*_[^\W_]*[A-Za-z0-9]|_{1,2}[A-Za-z]\w*[A-Za-z0-9]|__[A-Za-z]\w*__")
_CAMEL = re.compile(r"[a-z][a-z0-9]*[A-Z]\w*|(?:[A-Z][a-z0-9]+){2,}[A-Z]?\w*|[A-Z]{2,}[a-z]+[A-Z]\w+")
_NOT_CAMEL = re.compile(r"(?:Mc|Mac|De|Di|Du|Le|La|Van|Fitz|O)[A-Z][a-z]+s?")
_FLAG = re.compile(r"--[a-z][\w-]+")
_COMMIT = re.compile(r"(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7,40}")
_PACKAGE = re.compile(r"@[a-z][\w.-]*/[a-z][\w.-]*|@[A-Za-z_][\w.]{2,}")
_ASSIGNED = re.compile(rf"({_IDENTIFIER}(?:\.{_IDENTIFIER})*)=")


def _phrase(kind: str, prefix: str, pattern: str) -> tuple[str, str, re.Pattern[str]]:
    return kind, prefix, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


_PHRASES = (
    _phrase("error", "http ", r"HTTP(?:/\d(?:\.\d)?)? ?(?:status |error )?(?:code )?([1-5]\d\d)"),
    _phrase("error", "http ", r"status(?: code)?(?: of)?[ :=]{1,2}([1-5]\d\d)"),
    _phrase(
        "error",
        "http ",
        r"([45]\d\d) (?:errors?|Bad Gateway|Service Unavailable|Not Found|Forbidden|Unauthorized|Conflict"
        r"|Internal Server Error|Too Many Requests|Gateway Timeout|Bad Request)",
    ),
    _phrase("error", "", r"error\[([A-Z]\d{3,5})(?=\])"),
    _phrase("error", "exit ", r"exit(?:ed with)?(?: code| status)[ :=]{1,2}(\d{1,3})"),
    _phrase("error", "errno ", r"errno[ :=]{1,2}(\d{1,3})"),
    _phrase("error", "error ", r"error(?: code)?[ :=]{1,2}(\d{3,5})"),
    _phrase("error", "sqlstate ", r"SQLSTATE[ :=(\[]{1,2}([0-9A-Z]{5})"),
    _phrase("issue", "#", r"(?:issue|ticket|bug|PR|MR|pull request|merge request) #?(\d{1,7})"),
)
_PRODUCT = re.compile(
    r"\b([A-Za-z][\w+-]{0,30}) (?:version |release )?v?(\d{1,4}\.\d{1,4})(?![\w%]|\.\d)(?! ?%)"
)
_UNIT = re.compile(
    r" (?:%|percent|x\b|times|ms|s\b|sec|min|hours?|days?|million|billion|[kKMGT]i?B\b|k?m\b|k?g\b)"
)


def classify(word: str, *, quoted: bool = False) -> Found | None:
    """Kind and name of a word that is software; `quoted`: it was in backticks."""
    if len(word) > WORD_CHARACTERS or (_is_prose(word) and not quoted):
        return None
    found = _path(word) or _error(word) or _number(word) or _symbol(word)
    if found is None and quoted and any(map(str.isalpha, word)):
        found = ("symbol", canonical(word.removesuffix("()")))
    return found if found is None or found[1] else None


def find_phrases(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, kind and name of the forms that span several words."""
    for kind, prefix, pattern in _PHRASES:
        for match in pattern.finditer(text):
            yield match.start(), match.end(), kind, f"{prefix}{match[1].lower()}"
    for match in _PRODUCT.finditer(text):
        product, number = match[1], match[2]
        if product.lower() in FUNCTION_WORDS or _UNIT.match(text, match.end()):
            continue
        if product[0].isupper():
            yield match.start(2), match.end(), "version", f"{product.lower()} {number}"
        elif "version" in match[0] or "release" in match[0]:
            yield match.start(2), match.end(), "version", number


def base_name(path: str) -> str:
    """The last part of a canonical path; empty when it has one part only."""
    parts = path.replace("\\", "/").rstrip("/").rsplit("/", 1)
    return parts[1] if len(parts) > 1 else ""


def _is_prose(word: str) -> bool:
    """Whether it is an ordinary word, capitalised or not: most words are, and need no pattern."""
    return word.isalpha() and word[1:].islower() and word not in _NAMED_FILES


def _path(word: str) -> Found | None:
    if "/" in word or "\\" in word:
        return _slashed(word)
    bare = _LINE.sub("", word)
    if _FILE.fullmatch(bare) or bare in _NAMED_FILES or _DOT_FILE.fullmatch(bare):
        return "path", canonical(bare)
    return None


def _slashed(word: str) -> Found | None:
    if (url := _URL.fullmatch(word)) is not None:
        return "path", canonical(url["rest"].split("?")[0].split("#")[0].rstrip("/"))
    if _ISSUE.fullmatch(word) or _PACKAGE.fullmatch(word):
        return "issue" if "#" in word else "symbol", canonical(word)
    bare = _LINE.sub("", word)
    if _ABSOLUTE.fullmatch(bare) or (_RELATIVE.fullmatch(bare) and _is_relative_path(bare)):
        return "path", canonical(bare.rstrip("/"))
    return None


def _is_relative_path(word: str) -> bool:
    last = word.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    several = 3
    return (
        bool(_FILE.fullmatch(last) or _ROOTED.match(word))
        or word.endswith("/")
        or ((word.count("/") >= several - 1 or "\\" in word) and word.islower())
    )


def _error(word: str) -> Found | None:
    if _ERROR_CODE.fullmatch(word):
        return "error", word.lower()
    if (exception := _EXCEPTION.fullmatch(word.removesuffix("()"))) is not None:
        return "error", exception[1].lower()
    issue = _ISSUE.fullmatch(word)
    if issue is not None and (issue["key"] or "").lower() not in _PLAIN_PREFIXES:
        return "issue", word.lower()
    return None


def _number(word: str) -> Found | None:
    if not any(map(str.isdigit, word)):
        return None
    if _ADDRESS.fullmatch(word):
        return "symbol", word
    if (pinned := _PINNED.fullmatch(word)) is not None:
        return "version", f"{pinned[1].lower()} {pinned[2].lower()}"
    if (version := _NUMERIC_VERSION.fullmatch(word)) is not None:
        return "version", (version[1] or version[2]).lower()
    return None


def _symbol(word: str) -> Found | None:
    if (assigned := _ASSIGNED.match(word)) is not None:
        word = assigned[1]
    if (call := _CALL.fullmatch(word)) is not None:
        inner = call[1]
        is_code = word.endswith("()") or "." in inner or "_" in inner or _CAMEL.fullmatch(inner) is not None
        return ("symbol", inner.lower()) if is_code else None
    if _SCOPED.fullmatch(word) or _FLAG.fullmatch(word) or _SNAKE.fullmatch(word):
        return "symbol", word.removesuffix("()").lower()
    if _DOTTED.fullmatch(word) and max(map(len, word.split("."))) > len("io"):
        return "symbol", word.lower()
    if _CAMEL.fullmatch(word) and not _NOT_CAMEL.fullmatch(word):
        return "symbol", word.lower()
    if _COMMIT.fullmatch(word) or _PACKAGE.fullmatch(word) or ("@" in word[1:] and "." in word):
        return "symbol", canonical(word)
    return None
