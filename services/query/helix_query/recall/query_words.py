"""Which words of the query single memories hold, read from their stored texts.

Rarity is the inverse document frequency among the texts open to the caller. A word that no text holds is the
rarest: a query whose words nobody used is covered by nothing, however high its best BM25 score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.artifacts.lexicon.analysis import idf, stems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from helix_shared.artifacts.filter.selection import Selection
    from helix_shared.artifacts.generation.reader import Generation
    from helix_shared.artifacts.lexicon.scopes import OpenScopes
    from helix_shared.artifacts.signals.reader import Signals

TEXT_CHARACTERS: Final = 8_000
"""Characters of a memory that are read; one stem costs about a microsecond."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The distinct analysed words of a query, and where to look for them."""

    words: tuple[str, ...]
    rarities: NDArray[np.float64]
    """Inverse document frequency [words]."""
    signals: Signals

    @classmethod
    def of(cls, query: str, selection: Selection, generation: Generation) -> Self:
        """The words of the query that the lexical channel searches for."""
        scopes = generation.lexicon.scopes(selection)
        words = tuple(generation.lexicon.terms(query, scopes))
        rarities = [rarity_of(word, scopes) for word in words]
        return cls(words, np.array(rarities, np.float64), generation.signals)

    def held(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether speaker, title or text of a stored memory holds a word: [ordinals, words]."""
        lines = {line["ordinal"]: line for line in self.signals.records(ordinals)} if self.words else {}
        return self.held_by([lines.get(ordinal) for ordinal in ordinals.tolist()])

    def held_by(self, lines: Sequence[Mapping[str, Any] | None]) -> NDArray[np.bool_]:
        """The same of lines that are read already: [lines, words]; a missing line holds nothing."""
        written = [frozenset[str]() if line is None else words_of_line(line) for line in lines]
        found = [[word in one for word in self.words] for one in written]
        return np.array(found, bool).reshape(len(lines), len(self.words))

    def coverage(self, held: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Share of the query's words, weighted by rarity, that each memory of `held` holds: [memories]."""
        whole = float(self.rarities.sum())
        shares: NDArray[np.float64] = held @ self.rarities / (whole or 1.0)
        return shares

    def rarest(self, held: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Rarity of the rarest word that each memory of `held` holds, over that of the query: [memories]."""
        most = float(self.rarities.max(initial=0.0))
        shares: NDArray[np.float64] = (held * self.rarities).max(axis=1, initial=0.0) / (most or 1.0)
        return shares


def rarity_of(word: str, scopes: OpenScopes) -> float:
    """Inverse document frequency of an analysed word among the texts open to the caller."""
    return idf(scopes.document_frequency("text", word), scopes.size)


def words_of_line(line: Mapping[str, Any]) -> frozenset[str]:
    """Analysed words of the field `text` of the lexicon, from the stored line of a memory."""
    parts = (line["speaker"], line["title"], line["text"][:TEXT_CHARACTERS])
    return frozenset(stems(" ".join(parts)))
