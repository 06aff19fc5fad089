"""Whether a statement of a return says the opposite of an earlier one: "Tom can come after all".

The clause with the phrase of return is compared with the clause of the older statement that shares most words
with it. Each denies or states something: by a negation, whose object is what follows it, or by a word that
something ended ("quit", "cancelled", "closed"); both together state it ("we won't drop the app").
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

from helix_consolidation.relations.words.clauses import small_clauses
from helix_consolidation.relations.words.reading import READ_CHARACTERS, content_words, is_same_stem

_CACHED: Final = 4_096
_LEAST_SHARE: Final = 0.5
_LEAST_OF_DENIED: Final = 0.6
_MODAL: Final = content_words("allowed able supposed longer")
_SAYS_RETURN: Final = re.compile(
    r"\b(?:again|back|after all|as before|like before|return(?:s|ed|ing)? to|restored?|reinstated"
    r"|re-?enabled|revert(?:ed|ing)? to)\b"
)
_IDIOM: Final = re.compile(
    r"\bcan(?:no|['\u2019])?t (?:believe|wait|complain|help)\b|\bnot only\b"
    r"|\bno (?:problem|worries|doubt|idea|wonder)\b"
    r"|\bdon['\u2019]?t (?:mind|worry|know)\b|\bwhy not\b|\bnot (?:too )?bad\b|\bin no time\b|\bno\.? (?=\d)"
)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|no longer|never|none|nobody|nothing|neither|cannot|without|nor)\b|n['\u2019]t\b"
    r"|\b(?:dont|didnt|doesnt|isnt|wasnt|wont|cant|arent|werent|hasnt|havent|wouldnt|shouldnt|couldnt|aint)\b"
)
_OFF: Final = r"(?:off|down|out|shut)"
_ENDS: Final = re.compile(
    r"\b(?:(?:to|will|we|i|they|you|must|should|please) stop|stopp(?:ed|ing)"
    r"|quit(?:s|ting)?|cancel(?:s|led|ed|ling|ing)?|call(?:ed|ing)? off"
    r"|clos(?:es|ed|ing)|close (?:the|our|my|down)|shut(?:s|ting)?|ended|ending"
    r"|g[ai]v(?:e|es|en|ing) up|drop(?:s|ped|ping)?"
    r"|abandon(?:s|ed|ing)?|scrap(?:s|ped|ping)?|suspend(?:s|ed|ing)?|paus(?:e|es|ed|ing)"
    r"|disabl(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing)|retir(?:es|ed|ing)|bann?ed|ban"
    r"|forbidden|resign(?:s|ed|ing)?|left (?:the|my|our|his|her|their|us)"
    r"|leaving (?:the|my|our|his|her|their|us)|sell(?:s|ing)?|sold|broken?"
    r"|out of (?:order|action|service|use)|on hold|f[ae]ll(?:en|ing|s)? through"
    r"|get(?:s|ting)? rid of|got rid of|dead|lost|refus(?:es|ed|ing)|reject(?:s|ed|ing)?|split up|divorced"
    rf"|unavailable|(?:is|are|was|were|be|been|being|stays?|went|goes|turn(?:ed|s)?|switch(?:ed|es)?) {_OFF}"
    r"|(?:is|are|was) over)\b"
    rf"|(?:['\u2019]s|['\u2019]re) {_OFF}\b|\b(?:took|takes?|taken|taking|turn(?:ed|s|ing)?"
    rf"|switch(?:ed|es|ing)?|put|puts|putting|got|gets?|had)(?: [\w'-]+){{1,4}} {_OFF}\b"
)


_STATE: Final = re.compile(
    rf"\b(?:closed|shut|broken|dead|unavailable|on hold|out of \w+|(?:is|are|was|were) over)\b|\b{_OFF}\b"
)
_RESTORED: Final = re.compile(
    r"\b(?:open(?:s|ed)?|re-?open(?:s|ed)?|on|up|work(?:s|ing)?|runs?|running|fixed|available|back|live|alive"
    r"|playing|going|enabled|re-?enabled)\b"
)
"""What is closed, off or broken is so no more only where it is said to be open, on or working."""
_PERMISSION: Final = re.compile(r"\b(?:allowed|permitted|able)\b")
_PERMITTED: Final = re.compile(r"\b(?:can|could|may|allowed|permitted|able|lets?|ok|okay)\b")
"""A ban is lifted by a permission, not by what somebody does."""


class _Clause(NamedTuple):
    """Stems of the content words of a clause, those behind a negation, and what its verbs say."""

    words: frozenset[str]
    denied: frozenset[str]
    ends: bool
    returns: bool


def is_opposite(new: str, old: str) -> bool:
    """Whether `new`, which speaks of a return, says of something that `old` says the opposite of it."""
    these = [clause for clause in _clauses(new[:READ_CHARACTERS]) if clause.returns]
    words = frozenset[str]().union(*(clause.words for clause in these)) or content_words(new)
    other = max(
        _clauses(old[:READ_CHARACTERS]), key=lambda clause: len(_shared(clause.words, words)), default=None
    )
    if other is None or not _shared(other.words, words):
        return False
    denied = frozenset[str]().union(*(clause.denied for clause in these))
    ends = any(clause.ends for clause in these)
    other_denies = bool(_shared(other.denied, words)) != other.ends
    if bool(denied) == ends:
        return other_denies
    return not other_denies and (ends or bool(_shared(denied, other.words)))


def is_direct(new: str, old: str) -> bool:
    """Whether the two are opposites about one thing: most of what the older clause names is named again."""
    words = content_words(new)
    clauses = _clauses(old[:READ_CHARACTERS])
    other = max(clauses, key=lambda clause: len(_shared(clause.words, words)), default=None)
    if other is None:
        return False
    if other.denied and _PERMISSION.search(old.lower()) and not _PERMITTED.search(new.lower()):
        return False
    if other.ends and _STATE.search(old.lower()) and not _RESTORED.search(new.lower()):
        return False
    shared = _shared(other.words, words)
    named = other.words - content_words(" ".join(_ENDS.findall(old.lower()))) - _MODAL
    return len(shared) >= (_LEAST_OF_DENIED if other.denied else _LEAST_SHARE) * len(named)


def denies(text: str, words: frozenset[str]) -> bool:
    """Whether a text says of something with one of these stems that it is not so."""
    return any(_shared(clause.denied, words) for clause in _clauses(text[:READ_CHARACTERS]))


def ends(text: str) -> bool:
    """Whether a text says that something ended."""
    return any(clause.ends for clause in _clauses(text[:READ_CHARACTERS]))


def _shared(these: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """The stems of `these` that are those of `others`, but for a doubled letter ("run", "runn")."""
    return frozenset(one for one in these if any(is_same_stem(one, other) for other in others))


@functools.lru_cache(_CACHED)
def _clauses(text: str) -> tuple[_Clause, ...]:
    found = []
    for clause in small_clauses(_IDIOM.sub(" ", text.replace("\u2019", "'").lower())):
        negation = _NEGATION.search(clause)
        words = content_words(clause)
        if words:
            denied = content_words(clause[negation.end() :]) if negation else frozenset[str]()
            ends, returns = _ENDS.search(clause), _SAYS_RETURN.search(clause)
            found.append(_Clause(words, denied, ends is not None, returns is not None))
    return tuple(found)
