"""Nouns for persons, with the gender they tell, and names that they introduce in lower case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from helix_shared.naming.frequency import is_common
from helix_shared.naming.words import FUNCTION_WORDS, OPENERS

_MALE: Final = (
    "father dad daddy grandfather grandpa granddad brother husband boyfriend son grandson uncle nephew bro"
    " stepfather man guy boy bloke gentleman landlord waiter king prince fianc\u00e9"
)
_FEMALE: Final = (
    "mother mum mom mummy mommy grandmother grandma granny nan sister wife girlfriend daughter granddaughter"
    " aunt auntie niece stepmother woman girl lady landlady midwife waitress queen princess sis fianc\u00e9e"
)
_EITHER: Final = (
    "accountant agent architect assistant author baby babysitter barber boss buddy builder buyer"
    " candidate captain caretaker carer carpenter cat chair chef child childminder classmate cleaner client"
    " coach colleague consultant contractor cook cousin coworker customer dancer dentist designer developer"
    " director doctor dog driver editor electrician employee engineer examiner expert flatmate founder friend"
    " gardener grandchild grandparent guest guide hairdresser handyman headteacher horse host housemate"
    " intern kid lawyer leader librarian maintainer manager mate mechanic member mentor musician nanny"
    " neighbor neighbour newborn nurse officer optician owner painter parent partner pastor patient"
    " person photographer physio physiotherapist pilot plumber priest principal producer professor"
    " psychologist puppy recruiter researcher roommate seller sibling singer spouse student supervisor"
    " surgeon tailor teacher teammate technician tenant therapist toddler trainer tutor twin vet visitor"
    " volunteer writer"
)
PERSON_NOUNS: Final = {
    **dict.fromkeys(_MALE.split(), "m"),
    **dict.fromkeys(_FEMALE.split(), "f"),
    **dict.fromkeys(_EITHER.split(), ""),
}
"""Nouns for persons (and pets); "m", "f", or empty where they tell no gender."""

ROLE_PATTERN: Final = r"(?:boss|landlord|landlady|dentist|therapist|gp|supervisor)"
"""Roles in somebody's life that one person has at a time."""
_OTHER_RELATIVES: Final = (
    "partner spouse fianc\u00e9e fianc\u00e9 fiancee fiance ex son daughter twin niece nephew uncle cousin"
    " grandson granddaughter friend colleague boss dog cat"
)
_RELATIVES: Final = {
    **dict.fromkeys(("wife", "missus"), "wife"),
    **dict.fromkeys(("husband", "hubby"), "husband"),
    **dict.fromkeys(("girlfriend", "gf"), "girlfriend"),
    **dict.fromkeys(("boyfriend", "bf"), "boyfriend"),
    **dict.fromkeys(("mother", "mum", "mom", "mummy", "mommy"), "mother"),
    **dict.fromkeys(("father", "dad", "daddy"), "father"),
    **dict.fromkeys(("brother", "bro"), "brother"),
    **dict.fromkeys(("sister", "sis"), "sister"),
    **dict.fromkeys(("grandmother", "grandma", "granny", "nan"), "grandmother"),
    **dict.fromkeys(("grandfather", "grandpa", "granddad"), "grandfather"),
    **dict.fromkeys(("mother-in-law", "father-in-law", "brother-in-law", "sister-in-law"), "in-law"),
    **dict.fromkeys(("kid", "child", "baby", "toddler"), "child"),
    **dict.fromkeys(("aunt", "auntie"), "aunt"),
    **dict.fromkeys(("flatmate", "housemate", "roommate"), "flatmate"),
    **dict.fromkeys(("neighbor", "neighbour"), "neighbour"),
    **{noun: noun for noun in _OTHER_RELATIVES.split()},
}
RELATIVE_PATTERN: Final = "|".join(sorted(map(re.escape, _RELATIVES), key=len, reverse=True))


def relative_of(noun: str) -> str:
    """One word for the nouns that mean the same relative, friend or pet; the noun itself for others."""
    return _RELATIVES.get(noun.lower(), noun.lower())


NOUN_PATTERN: Final = "|".join(sorted(PERSON_NOUNS, key=len, reverse=True))
OCCUPATION_PATTERN: Final = (
    r"(?:(?!(?:dad|daddy|mum|mom|mummy|mommy|nan|gran\w{0,8}|mother|father|sister|brother|bro|sis|wife|husband|son"
    r"|daughter|kids?|baby|cat|dog|puppy|boy|girl|man|woman|guy)\b(?! of\b))"
    rf"(?:{NOUN_PATTERN})|rn|gp|phd|postdoc|chemist|scientist|economist|journalist|artist|pianist"
    r"|programmer|analyst|firefighter|paramedic|farmer|baker|translator|undergrad|freelancer)"
)
"""What somebody is by work or study: the nouns of `NOUN_PATTERN` but for family and pets, and others."""

NATIONALITY_ENDING: Final = re.compile(r"(?:ese|ish|ian|ean|can|man|ench|utch|eek|wiss)$")
"""Most words for nationalities end so: "my wife is Portuguese" names nobody."""

_TITLE: Final = r"(?:mr|mrs|ms|dr|prof|professor|auntie|uncle)"
_NAME = rf"(?!{_TITLE}\b)(?P<name>[a-z][a-z\u00e0-\u024f'-]{{1,29}})(?![\w@./:-]\w)"
_INTRODUCED: Final = re.compile(
    rf"(?<![\w-])(?:(?:my|our|his|her|their|the|an?)\s+(?:[a-z][\w-]*\s+)?(?:{NOUN_PATTERN}),?"
    r"(?:\s+(?:is|was))?(?:\s+(?:called|named))?"
    r"|called|named|nicknamed|name(?:\s+is|'s|s)"
    rf"|(?P<title>{_TITLE})\.?(?:\s+(?:da|de|del|den|der|di|la|ten|van|von)){{0,2}})"
    rf"\s+{_NAME}"
)


def find_introduced(text: str) -> Iterator[tuple[int, int]]:
    """Spans of names in lower case that a noun for a person, "called" or a title introduces."""
    for match in _INTRODUCED.finditer(text):
        name = match["name"].rstrip("'-")
        bare = name.removesuffix("'s")
        if bare in FUNCTION_WORDS or bare in PERSON_NOUNS:
            continue
        if match["title"] is not None and bare not in OPENERS:
            yield match.start("title"), match.start("name") + len(bare)
        elif not is_common(bare):
            yield match.start("name"), match.start("name") + len(bare)
