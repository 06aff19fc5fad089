"""Flags of a text: an instruction to its reader, a credential, invisible characters.

A flagged memory is stored and recalled like any other: the flag is shown beside it, and a caller may exclude
it (`Filter.exclude_flags`). Nothing is dropped, because a rule cannot tell an attack from a talk about one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from helix_memory.vocabulary.speech_acts import FLAGS
from helix_shared.text.hidden import CONTROLS, DIRECTIONS, INVISIBLE
from helix_shared.text.unicode_form import normalised

if TYPE_CHECKING:
    from collections.abc import Sequence

READ_CHARACTERS: Final = 20_000
"""Characters of a text that are read; a memory is a piece of a few hundred tokens."""

_TO_IGNORE: Final = (
    r"(?:ignore|disregard|forget|override|bypass|do not follow|don't follow|stop following)\s+"
    r"(?:(?:all|any|every|of|the|your|my|these|those|previous|prior|earlier|above|preceding|former|system|"
    r"safety|original)\s+){1,6}"
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|policies|training)"
)
_TO_THE_MODEL: Final = (
    r"(?:you are now|from now on,? you are|act as|pretend (?:to be|you are)|you must act as)\s+"
    r"(?:an? |the )?(?:\w+ ){0,3}?(?:ai|assistant|model|chatbot|llm|dan|jailbroken|"
    r"unrestricted|developer mode)\b"
)
_OF_THE_PROMPT: Final = (
    r"(?:reveal|print|repeat|show|output|leak|send|tell me)\s+(?:\w+ ){0,3}?"
    r"(?:system prompt|hidden prompt|initial prompt|your instructions|your prompt)"
)
_TO_SEND_OUT: Final = (
    r"(?:send|post|upload|forward|exfiltrate|e-?mail)\s+(?:\w+ ){0,6}?"
    r"(?:password|credential|api[ _-]?key|secret|token|environment variable|private key|memor(?:y|ies)|"
    r"conversation)s?\s+(?:\w+ ){0,4}?to\s+(?:https?://|\S+@|this (?:address|url|server))"
)
_USER: Final = r"(?:the|your)\s+(?:user|human|operator)\b"
_NOT_TO: Final = r"(?:do not|don['\u2019]?t|never|must not)\s+"
# "this" must follow: "do not notify the user twice" is a rule of a product
_TO_HIDE: Final = (
    rf"{_NOT_TO}(?:tell|inform|notify|alert|warn)\s+{_USER}\s+(?:(?:about|of)\s+)?"
    r"(?:(?:any|some) of )?(?:this|these|anything)\b"
    rf"|{_NOT_TO}(?:mention|reveal|disclose)\s+(?:this|these|it|any of (?:this|these))\s+"
    rf"(?:\w+ ){{0,2}}?to\s+{_USER}"
)
_IN_COMMENT: Final = (
    r"<!--\s{0,20}(?:(?:important|hidden|secret|system|note|message|instructions?|attention|dear|hey|hello|to|for"
    r"|the|any|all)\b[ :,!-]{0,3}){0,5}"
    r"(?:ai|llm|assistant|chatbot|language model|(?:chat)?gpt|claude|copilot|gemini)s?\b"
    r"(?:\s(?:assistant|agent|model|reader|system|tool|crawler)s?\b)?"
    r"\s{0,3}(?::|,\s{0,3}(?:please|you|do|don['\u2019]?t|always|never|ignore|when|if)\b)"
)
_MARKUP: Final = (
    r"<\|?(?:im_start|im_end|system|endoftext|assistant)\|?>|\[/?INST\]|<</?SYS>>"
    r"|^[^\S\n]*+(?:###[^\S\n]*+)?(?:system|(?:new|important) instructions?)(?: prompt)?\s*:\s*"
    r"(?:you|ignore|from now)"
)
_INSTRUCTION: Final = re.compile(
    f"{_TO_IGNORE}|{_TO_THE_MODEL}|{_OF_THE_PROMPT}|{_TO_SEND_OUT}|{_TO_HIDE}|{_IN_COMMENT}|{_MARKUP}",
    re.IGNORECASE | re.MULTILINE,
)
_KEY_NAME: Final = r"(?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?"
_KEY_EDGE: Final = re.compile(rf"-----(?P<side>BEGIN|END) {_KEY_NAME}-----")
_KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/=\\]{20}")
"""How a piece begins that is cut out of a key."""
_KEYS: Final = (
    rf"-----BEGIN {_KEY_NAME}-----"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,255}\b|\bgithub_pat_[A-Za-z0-9_]{40,255}\b|\bglpat-[A-Za-z0-9_-]{20,64}\b"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,250}\b"
    r"|\bsk-(?:[a-z]{2,10}-){0,3}[A-Za-z0-9_-]{20,250}\b|\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,128}\b"
    r"|\bAIza[A-Za-z0-9_-]{35}\b|\bya29\.[A-Za-z0-9_-]{20,255}\b|\bnpm_[A-Za-z0-9]{36}\b"
    r"|\bpypi-[A-Za-z0-9_-]{50,255}\b|\bhf_[A-Za-z0-9]{30,64}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,1000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,1000}"
    r"|\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{1,64}:[^\s:/@]{3,128}@[\w.-]{1,253}"
)
_AUTHORIZATION: Final = (
    r"(?i:\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3})"
    # a digit: "Bearer YOUR_TOKEN" states none
    r"(?=[A-Za-z._~+/=-]{0,127}\d)[A-Za-z0-9._~+/=-]{8,128}"
)
_REFERENCE: Final = (
    r"\$(?:[({]|[A-Z_]{3})|<[\w -]{1,40}>(?![^\s\"'`])|\{{1,2}\s?[\w. ]{1,40}\}|os\.(?:environ|getenv)\b"
)
"""The beginning of a value that stands elsewhere: `$KEY`, `<your-key>`, `{key}`."""
_STATED: Final = (
    # an underscore may stand before it: DB_PASSWORD
    r"(?i:(?<![^\W_])(?:pass(?:word|wd|phrase|code)(?:\s(?:for|to|of)(?:\s[\w'.-]{1,32}){1,4}(?!://))?|"
    r"api[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|(?:access|auth)[ _-]?token|"
    r"client[ _-]?secret)\b[\"']?\s{0,3}(?:is|=|:|:=)\s{0,3})[\"'`]?"
    rf"(?!{_REFERENCE})"
    # a value with a digit or a sign inside: "the password is expired" states none
    r"(?=[^\s\"'`]{0,127}(?:\d|[^\w\s.,;:!?\"'`()-]))[^\s\"'`,;()]{6,128}"
)
_SECRET: Final = re.compile(f"{_KEYS}|{_AUTHORIZATION}|{_STATED}")

_JOINERS: Final = "\u200c\u200d\ufe0f\ufe0e"
"""Used by scripts and emoji: not suspicious by themselves."""
_TAGS: Final = re.compile(f"[{INVISIBLE}]")
_DIRECTIONS: Final = re.compile(f"[{DIRECTIONS}]")
_CONTROLS: Final = re.compile(f"[{CONTROLS}]")
_ENGLAND: Final = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")
"""Flags of parts of a country are emoji made of tag characters."""


def holds_secret(text: str) -> bool:
    """Whether `flags_of` finds a credential; such a text is not sent to a language model."""
    return _SECRET.search(_plain(text[:READ_CHARACTERS])) is not None


def parts_of_keys(pieces: Sequence[str]) -> set[int]:
    """Numbers of the pieces of one text that go on with a private key which begins in an earlier one.

    Nothing in such a piece tells what it is: it is letters and digits.
    """
    parts = set[int]()
    is_open = False
    for number, piece in enumerate(pieces):
        edges = [edge["side"] for edge in _KEY_EDGE.finditer(piece)]
        is_open = is_open and (edges[:1] == ["END"] or _KEY_BODY.match(piece) is not None)
        if is_open:
            parts.add(number)
        if edges:
            is_open = edges[-1] == "BEGIN"
    return parts


def flags_of(text: str, *, is_key_part: bool = False) -> list[str]:
    """The `FLAGS` of a text, in their order; `is_key_part`: it is one of `parts_of_keys`."""
    read = text[:READ_CHARACTERS]
    plain = _plain(read)
    found = {
        "instruction": _INSTRUCTION.search(plain) is not None,
        "secret": is_key_part or _SECRET.search(plain) is not None,
        "invisible": not _is_visible(read),
    }
    return [flag for flag in FLAGS if found[flag]]


def _plain(text: str) -> str:
    return text if text.isascii() else normalised("NFKC", _without_invisible(text))


def _without_invisible(text: str) -> str:
    """Words that invisible characters split are joined again, so that no rule is evaded by them."""
    return "".join(
        character for character in text if unicodedata.category(character) != "Cf" or character in _JOINERS
    )


def _is_visible(text: str) -> bool:
    if _CONTROLS.search(text):
        return False
    if text.isascii():
        return True
    without_emoji = _ENGLAND.sub("", text).removeprefix("\ufeff")
    if _TAGS.search(without_emoji):
        return False
    # text from right to left uses direction marks; elsewhere they reorder what a reader sees
    is_right_to_left = any(unicodedata.bidirectional(character) in {"R", "AL"} for character in without_emoji)
    return is_right_to_left or not _DIRECTIONS.search(without_emoji)
