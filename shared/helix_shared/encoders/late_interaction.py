"""A late-interaction model: states of the tokens of a query or a passage, trained to be compared.

ColBERT (Khattab, Zaharia 2020). A model folder may hold one in its folder `LATE_INTERACTION_FOLDER`. Then the
codes of tokens are of its states, and the vector stays that of the encoder. A marker, the token after the
start of a text, tells the model whether it reads a query or a passage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from helix_shared.encoders.model import (
    GRAPH_FILE,
    TOKENIZER_FILE,
    LateInteractionCard,
    load_late_interaction_card,
)
from helix_shared.encoders.session import TokenSession
from helix_shared.encoders.tokens import TextTokens

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

NO_WORD = (-1, -1)


@dataclass(frozen=True, slots=True, eq=False)
class TokenStates:
    """One run of the model, special tokens and marker included."""

    ids: NDArray[np.int64]
    """[n]."""
    states: NDArray[np.float32]
    """[n, d]."""
    words: NDArray[np.int32]
    """First and last character [n, 2) of the word that each token is a piece of; -1, -1 for special ones."""


class LateInteractionModel:
    """A loaded model; thread-safe."""

    def __init__(self, card: LateInteractionCard, tokens: TextTokens, session: TokenSession) -> None:
        self.card = card
        self.tokens = tokens
        """Cuts a text where the marker still fits."""
        self._session = session

    @classmethod
    def load(cls, folder: Path, *, threads: int = 1, remembers: bool = True) -> Self:
        """Check the files of `folder` against its card and open the model; texts are run by `threads`.

        Raises:
            NotFoundError: there is no such folder.
            CorruptArtifactError: a file is missing, changed, or cannot be run.
        """
        card = load_late_interaction_card(folder)
        tokens = TextTokens.load(
            folder / TOKENIZER_FILE, max_tokens=card.max_text_tokens, remembers=remembers
        )
        return cls(card, tokens, TokenSession(folder / GRAPH_FILE, threads=threads))

    def passage(self, text: str) -> TokenStates:
        """The tokens of a passage; those beyond the limit of the card are left out."""
        return self._run(text, self.card.passage_marker)

    def query(self, text: str) -> TokenStates:
        """The tokens of a query; the same, with its marker."""
        return self._run(text, self.card.query_marker)

    def _run(self, text: str, marker: int) -> TokenStates:
        ids = np.insert(self.tokens.ids(text)[0], 1, marker)
        words = np.insert(self.tokens.word_spans(text), 1, NO_WORD, axis=0)
        return TokenStates(ids, self._session.states(ids[None]), words)
