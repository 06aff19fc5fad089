"""Queries that are arithmetic or a conversion of units and nothing else, by a closed vocabulary.

Every word must be a number, an operation, a unit or a filler. With any other word the query may need
memory ("15% of the budget", "how many seconds is the lease").
"""

from __future__ import annotations

import re
from typing import Final

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_TOKEN: Final = re.compile(
    rf"{_NUMBER}|[a-z]+(?:'[a-z]+)?|\*\*|[-+*/^=()%!?.,:;\u00d7\u00f7\u221a\u00b2\u00b3<>]"
)

_SIGNS: Final = frozenset(["+", "*", "**", "^", "%", "\u00d7", "\u00f7", "\u221a", "\u00b2", "\u00b3"])
_SPACED: Final = re.compile(r"[\d)] [-/\u2212x] [\d(]")
_PRODUCT: Final = re.compile(r"\d ?x ?\d")
_FACTORIAL: Final = re.compile(r"\d! ?(?:=|\?|$)")
_EQUATION: Final = re.compile(r"\d ?[a-z] ?[-+] ?\d+ ?= ?-?\d")

_OPERATIONS: Final = frozenset([
    "plus", "minus", "times", "multiplied", "multiply", "divided", "divide", "add", "added", "subtract",
    "subtracted", "sum", "difference", "product", "quotient", "remainder", "modulo", "mod", "percent",
    "squared",
    "cubed", "square", "cube", "root", "factorial", "power", "prime", "average", "mean", "median", "log",
    "logarithm", "sin", "cos", "tan", "sine", "cosine", "tangent", "sqrt", "round", "rounded", "divisor",
    "multiple", "gcd", "lcm",
    "factors", "simplify", "reduce", "half", "double", "triple", "twice", "third", "quarter", "split",
    "solve",
    "divisible", "larger", "bigger", "greater", "smaller", "less", "even", "odd", "absolute", "go",
])  # fmt: skip
_FILLERS: Final = frozenset([
    "what", "what's", "whats", "is", "are", "how", "much", "many", "calculate", "compute", "evaluate",
    "find", "work",
    "out", "the", "a", "an", "of", "by", "to", "from", "and", "off", "or", "with", "into", "in", "than",
    "between", "among",
    "evenly", "equally", "number", "numbers", "which", "it", "on", "it's", "equal", "equals", "value",
    "result",
    "decimal", "decimals", "place", "places", "nearest", "whole", "integer", "ten", "tens", "hundred",
    "hundreds", "thousand", "two",
    "three", "one", "four", "five", "base", "degrees", "radians", "greatest", "highest", "lowest", "least",
    "common", "natural", "for", "x",
    "please", "can", "could", "you", "tell", "me", "hey", "ok", "give", "all", "does", "do", "raised", "pi",
])  # fmt: skip
_SEQUENCE: Final = re.compile(
    rf"(?:what (?:number )?comes next|what's next|next number|continue)[^\w]*(?:(?:in|after)[^\w]*)?"
    rf"{_NUMBER}(?:,? +{_NUMBER}){{2,12}}[ ,.?\u2026]*"
)

_DIMENSIONS: Final = {
    "length": "km|kms|kilometers?|kilometres?|m|meters?|metres?|cm|centimeters?|centimetres?|mm|millimeters?|"
    "millimetres?|miles?|mi|feet|foot|ft|inch|inches|in|yards?|yd|light[- ]years?",
    "kitchen": "kg|kgs|kilos?|kilograms?|g|grams?|mg|milligrams?|lbs?|pounds?|oz|ounces?|stones?|tons?|"
    "tonnes?|"
    "liters?|litres?|l|ml|milliliters?|millilitres?|gallons?|pints?|quarts?|cups?|tablespoons?|tbsp|"
    "teaspoons?|tsp|fl oz|fluid ounces?",
    "temperature": "celsius|centigrade|fahrenheit|kelvin|c|f|k|degrees (?:celsius|fahrenheit)|\u00b0 ?[cf]",
    "data": "bits?|bytes?|kb|mb|gb|tb|pb|kib|mib|gib|kilobytes?|megabytes?|gigabytes?|terabytes?",
    "time": "milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|decades?|"
    "centur(?:y|ies)",
    "speed": "km/h|kmh|kph|mph|m/s|knots?|miles per hour|kilometers per hour|kilometres per hour|"
    "meters per second|metres per second",
    "angle": "degrees|radians?",
    "area": "acres?|hectares?|square (?:feet|meters?|metres?|miles?|kilometers?|kilometres?|inches|yards?)",
    "energy": "joules?|kj|calories?|kcal|watts?|kilowatts?|kw|horsepower|hp|kwh",
    "pressure": "psi|bars?|pascals?|kpa|atm|atmospheres?",
}
_UNIT = "|".join(_DIMENSIONS.values())
_QUANTITY = (
    rf"(?:-?{_NUMBER}|a|an|one|half an?) ?(?:degrees )?(?:{_UNIT})(?: (?:and )?{_NUMBER} ?(?:{_UNIT}))?"
)
_ASK = (
    r"(?:(?:please|hey|ok|can you|could you|convert|change|turn|express|give me|tell me|what(?:'s| is| are)|"
    r"how much is|how many is) ){0,3}"
)
_END = r"(?: please)?[?.! ]*"
_CONVERSIONS: Final = (
    re.compile(rf"{_ASK}(?P<source>{_QUANTITY}) (?:in|to|into|as|equals?|=) (?P<target>{_UNIT})"
               rf"(?: and (?:{_UNIT}))?{_END}"),
    re.compile(rf"{_ASK}how (?:many|much) (?P<target>{_UNIT}) (?:are |is )?(?:there )?(?:in|make|is|are|"
    rf"make up) "
               rf"(?P<source>{_QUANTITY}){_END}"),
)  # fmt: skip
_OF_DIMENSION: Final = {name: re.compile(units) for name, units in _DIMENSIONS.items()}
_SPELT_UNIT: Final = re.compile(rf"(?:{_UNIT})(?![a-z])")

_DIGITS = r"(?:0x[0-9a-f]{1,16}|0b[01]{1,64}|\d{1,20}|[01]{2,64})"
_BASE = r"(?:decimal|binary|hex|hexadecimal|octal|base (?:2|8|10|16)|base[- ](?:two|eight|ten|sixteen))"
_NUMERAL: Final = re.compile(
    rf"{_ASK}(?:write |show )?(?:(?:the )?(?:{_BASE}|number) )?{_DIGITS}(?: (?:from )?{_BASE})? (?:in|to|"
    rf"into|as) "
    rf"(?:an? )?(?:{_BASE}|roman numerals?|words|scientific notation|a percentage|a fraction|a decimal){_END}"
    rf"|{_ASK}(?:write )?[ivxlcdm]{{2,12}} (?:in|to|into|as) (?:an? )?(?:arabic )?(?:number|numerals?|"
    rf"decimal){_END}"
    rf"|{_ASK}#[0-9a-f]{{6}} (?:in|to|into|as) (?:rgb|hsl|cmyk){_END}"
    rf"|{_ASK}rgb ?\(?\d{{1,3}},? \d{{1,3}},? \d{{1,3}}\)? (?:in|to|into|as) hex{_END}"
)


def is_arithmetic(folded: str) -> bool:
    """Whether a query (lower case, single spaces) is arithmetic and nothing else."""
    if not any(map(str.isdigit, folded)):
        return False
    if _SEQUENCE.fullmatch(folded):
        return True
    tokens = _TOKEN.findall(folded)
    if len("".join(tokens)) != len(folded.replace(" ", "")):
        return bool(_EQUATION.search(folded)) and _is_equation(tokens)
    words = {token for token in tokens if token[0].isalpha()}
    if _EQUATION.search(folded):
        return _is_equation(tokens)
    if words - _OPERATIONS - _FILLERS:
        return False
    return bool(words & _OPERATIONS) or _has_sign(folded, tokens)


def _has_sign(folded: str, tokens: list[str]) -> bool:
    """Whether a sign joins numbers. "3/4" and "5-3" do not count: they may be dates and ranges."""
    numbers = sum(token[0].isdigit() for token in tokens)
    signs = _SIGNS.intersection(tokens)
    if "!" in tokens and _FACTORIAL.search(folded):
        return True
    if not signs - {"%"}:
        joined = _SPACED.search(folded) or _PRODUCT.search(folded)
        return numbers > 1 and bool(
            joined or ("%" in signs and "of" in tokens) or ("%" in signs and "off" in tokens)
        )
    return numbers > 1 or bool(signs & {"\u221a", "\u00b2", "\u00b3"})


def _is_equation(tokens: list[str]) -> bool:
    """Whether all words besides numbers, operations and fillers are single letters."""
    words = {token for token in tokens if token[0].isalpha()}
    return all(len(word) == 1 for word in words - _OPERATIONS - _FILLERS)


def is_conversion(folded: str) -> bool:
    """Whether a query (lower case, single spaces) asks for a quantity in another unit or notation."""
    if _NUMERAL.fullmatch(folded):
        return True
    for pattern in _CONVERSIONS:
        found = pattern.fullmatch(folded)
        if found is not None and _same_dimension(found["source"], found["target"]):
            return True
    return False


def _same_dimension(source: str, target: str) -> bool:
    """Whether two units have the same dimension; "5 km in 30 minutes" is not a conversion."""
    return any(
        unit.fullmatch(target) and any(unit.fullmatch(found[0]) for found in _SPELT_UNIT.finditer(source))
        for unit in _OF_DIMENSION.values()
    )
