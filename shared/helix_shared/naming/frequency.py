"""Common English words: a capital at the start of a sentence does not make one of them a name.

`common_words.txt` holds the words of the vocabulary of all-MiniLM-L6-v2 (Apache 2.0), in its order, which is
that of frequency, without those that are mostly written with a capital (ops/decisions/0047).
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Final

SHORTEST_STEM: Final = 3
_ENDINGS: Final = (
    ("ies", ("y",)),
    ("ied", ("y",)),
    ("ing", ("", "e")),
    ("ers", ("", "e")),
    ("ed", ("", "e")),
    ("er", ("", "e")),
    ("es", ("", "e")),
    ("ly", ("", "le")),
    ("s", ("",)),
    ("d", ("",)),
    ("y", ("", "e")),
)
"""Endings of inflected forms, and what stands in their place in the base form."""
_PREFIXES: Final = ("un", "re", "over", "out", "non", "self", "pre", "mis")


@functools.cache
def common_words() -> frozenset[str]:
    """The list, lower case; about 13,000 words."""
    read = resources.files("helix_shared.naming").joinpath("common_words.txt").read_text(encoding="ascii")
    return frozenset(read.split())


@functools.lru_cache(4_096)
def is_common(word: str) -> bool:
    """Whether a word (lower case), its base form or each of its parts is a common word."""
    if "-" in word:
        return all(not part or is_common(part) for part in word.split("-"))
    bare = word.replace("\u2019", "'").split("'")[0]
    known = common_words()
    return bare in known or any(base in known for base in _bases(bare))


def _bases(word: str) -> list[str]:
    found = []
    for ending, replacements in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < SHORTEST_STEM:
            continue
        found += [stem + replacement for replacement in replacements]
        if stem[-1] == stem[-2]:
            found.append(stem[:-1])
    found += [word.removeprefix(prefix) for prefix in _PREFIXES if len(word) > len(prefix) + SHORTEST_STEM]
    return found
