"""From text to token ids: cleaned, cut at the model's limit, never padded.

Before it: any Python string. After it: `session` runs the ids. Padding is switched off because one
text is one call, and the truncation a tokenizer file brings along is replaced by the card's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from tokenizers import Encoding, Tokenizer, models, normalizers, pre_tokenizers

from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
SHORT: Final = 64
COUNTED: Final = 8_192
"""Counts of so many texts of at most so many characters are kept: citations and headings come again."""
KEPT_CHARACTERS: Final = 4_096
KEPT: Final = 64
"""So many texts of at most so many characters stay tokenised: who is counted is mostly embedded next."""


def clean_text(text: str) -> str:
    """Make `text` fit for a tokenizer.

    Halves of a surrogate pair are joined when they stand together and become U+FFFD when alone (a
    tokenizer takes only what UTF-8 can hold); NUL becomes U+FFFD too. BERT tokenizers drop U+FFFD.
    """
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return paired.replace("\0", REPLACEMENT)


class TextTokens:
    """The tokenizer of one model; safe to use from several threads."""

    def __init__(self, cutting: Tokenizer, counting: Tokenizer, *, remembers: bool = True) -> None:
        self._cutting = cutting
        self._counting = counting
        self._count_short = lru_cache(COUNTED if remembers else 0)(self._counted)
        self._tokenised_lately = lru_cache(KEPT if remembers else 0)(self._tokenise)

    @classmethod
    def load(cls, path: Path, *, max_tokens: int, remembers: bool = True) -> Self:
        """Read a tokenizer.json; with `remembers` recent texts are kept, so that they are tokenised once.

        Raises:
            CorruptArtifactError: it is none.
        """
        # Truncation is a state of the tokenizer, not of a call, so there are two: one cuts, one counts.
        try:
            cutting, counting = (Tokenizer.from_file(str(path)) for _ in range(2))
        except Exception as error:  # the tokenizers package raises bare Exception
            raise CorruptArtifactError(f"tokenizer cannot be read: {path}: {error}") from error
        for tokenizer in (cutting, counting):
            tokenizer.no_padding()
        cutting.enable_truncation(max_length=max_tokens)
        counting.no_truncation()
        return cls(cutting, counting, remembers=remembers)

    def ids(self, text: str) -> np.ndarray:
        """Return int64 [1, n] with the special tokens, n at most the model's `max_tokens`."""
        return np.array([self._cutting.post_process(self._tokenised(text)).ids], dtype=np.int64)

    def count(self, text: str) -> int:
        """Count the tokens of the whole text, special tokens left out."""
        return self._count_short(text) if len(text) <= SHORT else self._counted(text)

    def _counted(self, text: str) -> int:
        return len(self._tokenised(text))

    def _tokenised(self, text: str) -> Encoding:
        return self._tokenised_lately(text) if len(text) <= KEPT_CHARACTERS else self._tokenise(text)

    def _tokenise(self, text: str) -> Encoding:
        """The whole text, special tokens left out."""
        return self._counting.encode(clean_text(text), add_special_tokens=False)

    @property
    def counts_add_up(self) -> bool:
        """Whether texts joined by white space have as many tokens as their parts together.

        True of BERT's tokenizers: they split at white space before anything else, and no character
        changes with its neighbours. Others may do so as well; they are not known to.
        """
        return (
            isinstance(self._counting.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
            and isinstance(self._counting.normalizer, normalizers.BertNormalizer)
            and isinstance(self._counting.model, models.WordPiece)
        )
