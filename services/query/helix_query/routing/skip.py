"""Which queries need no memory: a short list of forms, each of which must fire as a whole.

Looking is cheap and a wrongly skipped question is costly, so everything here is closed: a rule names
the whole query, and nothing is skipped that speaks of a person's past, names anything, holds a path
or code, or mentions a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_CALL = r"(?:(?:please|hey|ok|okay|can you|could you|would you|just)[,]? )*"

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_SIGN = (
    r"(?:[+*^\u00d7\u00f7%]| ?\*\* ?| - | / | [xX] | plus | minus | times | mod "
    r"| divided by | multiplied by )"
)
_ARITHMETIC = re.compile(
    rf"{_CALL}(?:what(?:'s| is| are)|calculate|compute|evaluate|solve|how much is)? ?"
    rf"(?P<sum>[(\s]*{_NUMBER}[)\s]*(?:\s*{_SIGN}\s*[(\s]*-?{_NUMBER}[)\s]*)+)(?:= ?\??)?[?.!\s]*",
    re.IGNORECASE,
)
_FUNCTION = re.compile(
    rf"{_CALL}(?:what(?:'s| is)|calculate|compute) (?:the )?"
    rf"(?:(?:square|cube) root of {_NUMBER}|{_NUMBER}(?: squared| cubed| factorial)|"
    rf"{_NUMBER} ?(?:%|percent) of {_NUMBER})"
    r"[?.!\s]*",
    re.IGNORECASE,
)
_UNITS = (
    "km|kilometers?|kilometres?|m|meters?|metres?|cm|mm|miles?|feet|foot|ft|inch(?:es)?|yards?|kg|kilograms?|g|grams?|"
    "lbs?|pounds?|oz|ounces?|celsius|fahrenheit|kelvin|liters?|litres?|gallons?|mb|gb|tb|kb|bytes?|seconds?|hours?"
)
_CONVERSION = re.compile(
    rf"{_CALL}(?:convert|what(?:'s| is)|how much is) {_NUMBER} ?(?:degrees )?(?:{_UNITS}) "
    rf"(?:in|to|into) (?:{_UNITS})[?.!\s]*",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"(?:(?:hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day|night)|"
    r"thanks|thank you|thx|ty|many thanks|cheers|bye|goodbye|see you|ok|okay|cool|great|nice|perfect|awesome|"
    r"got it|sounds good|never ?mind|you're welcome|no problem|well done|good job|lol|haha)"
    r"(?: (?:there|again|all|everyone|so much|very much|a lot|a bunch|for the help|for your help|helix|"
    r"assistant))?"
    r"[\s,.!]*)+",
    re.IGNORECASE,
)
_FORM = (
    r"json|yaml|xml|csv|tsv|toml|html|markdown|a (?:markdown )?table|a (?:bulleted |numbered )?list|"
    r"bullet points|title case|upper ?case|lower ?case|snake case|camel case|one line|a sentence"
)
_FORMAT = re.compile(
    rf"{_CALL}(?:re)?(?:format|convert|turn|put|rewrite|write|pretty-?print|render) "
    rf"(?:this|the following|these)(?: (?:text|words?|lines?|values?|numbers?|items?|data))? "
    rf"(?:as|into|to|in) (?:{_FORM})\s*:\s*(?P<material>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_LANGUAGE = (
    "french|german|spanish|italian|portuguese|dutch|polish|russian|ukrainian|turkish|arabic|hebrew|hindi|"
    "chinese|mandarin|japanese|korean|swedish|norwegian|danish|finnish|greek|latin|czech|english"
)
_QUOTED = "\"[^\"]+\"|'[^']+'|\u201c[^\u201d]+\u201d|`[^`]+`"
_TRANSLATE = re.compile(
    rf"{_CALL}translate (?P<quoted>{_QUOTED}) (?:in)?to (?:{_LANGUAGE})[.!?\s]*|"
    rf"{_CALL}translate (?:this|the following)(?: (?:text|sentence|word|phrase))? "
    rf"(?:in)?to (?:{_LANGUAGE})\s*:\s*"
    r"(?P<material>\S.*)|"
    rf"{_CALL}(?:how do you say|what(?:'s| is)) (?P<said>{_QUOTED}) in (?:{_LANGUAGE})[.!?\s]*",
    re.IGNORECASE | re.DOTALL,
)

_OWN_PAST = re.compile(
    r"\b(?:i|i'm|i've|i'd|me|my|mine|myself|we|we're|we've|us|our|ours|he|she|they|his|her|their|did|was|were|had|"
    r"remember|recall|remind|again|last|previous|earlier|before|usual)\b|'s\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[\w-]+/[\w./-]+|\w_\w|\w\(\)|[a-z][A-Z]|::|\b\w+\.[a-z]{1,5}\b|#\d|[A-Z]{2,}-?\d|\bv\d|`|\\"
)

CLOSED: Final = (
    ("arithmetic", _ARITHMETIC),
    ("arithmetic", _FUNCTION),
    ("unit conversion", _CONVERSION),
    ("small talk", _SMALL_TALK),
)
"""Forms that leave no room for anything else."""

WITH_MATERIAL: Final = (("reformatting of given text", _FORMAT), ("translation of given text", _TRANSLATE))
"""Forms that carry free text, which must pass the guard."""

LONGEST = 1_000
"""A longer query carries more than one of these forms."""


def skip_reason(query: str, *, has_names: Callable[[str], bool], has_time: Callable[[str], bool]) -> str:
    """Why `query` needs no memory, or an empty string when it may need some.

    `has_names` and `has_time` tell whether a text names anything or mentions a time.
    """
    text = " ".join(query.split())
    if len(text) > LONGEST:
        return ""
    for reason, form in CLOSED:
        if form.fullmatch(text):
            return reason
    for reason, form in WITH_MATERIAL:
        found = form.fullmatch(text)
        if found is not None:
            material = next(part for part in found.groups() if part)
            return "" if _may_concern_memory(material, has_names, has_time) else reason
    return ""


def _may_concern_memory(
    material: str, has_names: Callable[[str], bool], has_time: Callable[[str], bool]
) -> bool:
    inner = material.strip("\"'`\u201c\u201d ")
    return bool(_OWN_PAST.search(inner) or _CODE.search(inner) or has_names(inner) or has_time(inner))
