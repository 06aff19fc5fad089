"""The person that a statement is about: the word that ingest derives, and the code that a generation stores.

The word is the kind of person and, behind a space, which one; the empty word means that it is not sure.
Recall compares the stored number with the person that a question asks about.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SELF: Final = "self"
"""Its author, with the author's name where the event gives it."""
_NAMED: Final = "name"
_RELATIVE: Final = "relative"
OTHER: Final = "other"
"""Somebody else, who is not named: "he turned 38"."""

AUTHOR: Final = 1
BY_NAME: Final = 2
OF_AUTHOR: Final = 3
"""Kinds in a stored number: the author, a person by name, a relative of the author or somebody unnamed."""
_KINDS: Final = {SELF: AUTHOR, _NAMED: BY_NAME, _RELATIVE: OF_AUTHOR, OTHER: OF_AUTHOR}
_KIND_BITS: Final = 3
_CACHED: Final = 4_096


def author(speaker: str) -> str:
    """The author of a turn, by the name of its speaker, which may be empty."""
    name = first_name(speaker)
    return f"{SELF} {name}" if name else SELF


def named(name: str) -> str:
    """Somebody by name."""
    return f"{_NAMED} {first_name(name)}"


def of_relative(noun: str) -> str:
    """A relative, friend or pet of the author, by the noun of `naming.persons.relative_of`."""
    return f"{_RELATIVE} {noun}"


def first_name(name: str) -> str:
    """The first name in lower case: "Ama" and "Ama Mensah" are taken for one."""
    first, _, _ = name.strip().lower().partition(" ")
    return first.removesuffix("'s")


def are_two(one: str, other: str) -> bool:
    """Whether two words surely mean two people; `two_people` does the same for stored codes."""
    if not one or not other:
        # most statements: relating asks this of every candidate
        return False
    codes = np.array([[about_code(one)], [about_code(other)]], np.int64)
    return bool(two_people(*codes)[0])


def two_people(codes: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the stored numbers `codes` [n] and `others` [n] surely mean two people, pair by pair.

    A relative may be known by name, a named author may be somebody's relative, and two authors may both say
    "we": these are not sure.
    """
    kinds, persons = kinds_of(codes), persons_of(codes)
    kinds_too, persons_too = kinds_of(others), persons_of(others)
    is_other = persons != persons_too
    both_named = (persons != 0) & (persons_too != 0)
    found: NDArray[np.bool_] = (kinds == kinds_too) & (kinds > AUTHOR) & both_named & is_other
    for authors, by, them in ((kinds, persons, kinds_too), (kinds_too, persons_too, kinds)):
        found |= (authors == AUTHOR) & (them == BY_NAME) & is_other
        found |= (authors == AUTHOR) & (by == 0) & (them == OF_AUTHOR)
    return found


def about_code(about: str) -> int:
    """The stored code, 63 bits: the kind in the lowest two, above it a hash of the person; 0: not sure."""
    kind, _, person = about.partition(" ")
    return person_code(person) | _KINDS[kind] if kind in _KINDS else 0


@lru_cache(_CACHED)
def person_code(person: str) -> int:
    """The hash of a first name, or of the noun for a relative, without a kind; 0 for the empty one."""
    if not person:
        return 0
    digest = hashlib.blake2b(person.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 1) & ~_KIND_BITS


def kinds_of(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The kinds of stored codes [n]; 0 where it is not sure."""
    return codes & _KIND_BITS


def persons_of(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The hashes of the persons of stored codes [n]; 0 where nobody is named."""
    return codes & ~_KIND_BITS
