"""Which bare questions are left out: a derived statement quotes them with their answer.

"When are you going? Next April." holds the question "When are you going?". Ingest puts a name in place of the
first "he" or "she" of a question that it quotes, so that word may differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.packing.entries import Entry

Quoting = Mapping[str, frozenset[str]]
"""Ids of bare questions, each with those of the statements that quote it."""
NOTHING: Final[Quoting] = {}

NAME_CHARACTERS: Final = 60
"""Characters of a name that stands in place of a pronoun."""
_PRONOUN: Final = re.compile(r"(?<![\w/-])(?:he|him|his|she|hers?)(?![\w/-])", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) ")


def quoting_in(rows: Sequence[Mapping[str, Any]], profile: RankingProfile) -> Quoting:
    """The bare questions among `rows` that derived statements among them quote; none if both are packed."""
    answers: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows if profile.pack.leave_out_quoted else ():
        if row["derived_from"] and row["answers"]:
            answers.setdefault(row["answers"], []).append(row)
    if not answers:
        return NOTHING
    found = {}
    for row in rows:
        if row["speech_act"] == "question" and row["token_count"] <= profile.rank.acts.bare_tokens:
            statements = answers.get(row["memory_id"], ())
            found[row["memory_id"]] = frozenset(
                one["memory_id"] for one in statements if quotes(one["text"], row["text"])
            )
    return {question: statements for question, statements in found.items() if statements}


def quoted_last(entries: Iterable[Entry], quoting: Quoting) -> list[Entry]:
    """The entries in the order in which they are packed: quoted questions behind all others."""
    return sorted(entries, key=lambda entry: entry.memory_id in quoting)


def quotes(statement: str, question: str) -> bool:
    """Whether a statement holds every sentence that a bare question asks.

    Its other sentences are courtesy ("Nice to meet you!"): ingest calls nothing else a question.
    """
    held = " ".join(statement.split())
    sentences = _SENTENCE_END.split(" ".join(question.split()))
    asking = [one for one in sentences if one.endswith("?")] or sentences
    return all(_holds(held, one) for one in asking)


def _holds(statement: str, sentence: str) -> bool:
    """Whether a sentence stands in a statement, or would but for a name in place of its first pronoun."""
    if sentence in statement:
        return True
    pronoun = _PRONOUN.search(sentence)
    start = statement.find(sentence[: pronoun.start()]) if pronoun else -1
    if pronoun is None or start < 0:
        return False
    behind, rest = start + pronoun.start(), sentence[pronoun.end() :]
    return rest in statement[behind : behind + NAME_CHARACTERS + len(rest)]
