"""Turns any Python string into token ids: cleaned, truncated to the model's limit, not padded.

Padding is off because a run has one text. The truncation in a tokenizer file is replaced by that of the card.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from tokenizers import Encoding, Tokenizer, models, normalizers, pre_tokenizers

from helix_shared.errors import CorruptArtifactError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
COUNT_CACHE_CHARACTERS: Final = 64
"""Longest text whose token count is cached: citations and headings repeat."""
COUNT_CACHE_TEXTS: Final = 8_192
TOKEN_CACHE_CHARACTERS: Final = 4_096
"""Longest text whose tokens are cached: a counted text is usually embedded next."""
TOKEN_CACHE_TEXTS: Final = 64


def filled(text: str, *, field: str) -> str:
    """`text` itself.

    Raises:
        InvalidInputError: it is empty or white space; names `field`.
    """
    if not text or text.isspace():
        raise InvalidInputError(field, "must hold more than white space to be embedded")
    return text


def clean_text(text: str) -> str:
    """Make `text` valid input for a tokenizer.

    Surrogate pairs are joined; a lone surrogate, which UTF-8 cannot encode, and NUL become U+FFFD. BERT
    tokenizers drop U+FFFD.
    """
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return paired.replace("\0", REPLACEMENT)


class TextTokens:
    """The tokenizer of one model; thread-safe."""

    def __init__(self, cutting: Tokenizer, counting: Tokenizer, *, remembers: bool = True) -> None:
        self._cutting = cutting
        self._counting = counting
        self._count_short = lru_cache(COUNT_CACHE_TEXTS if remembers else 0)(self._counted)
        self._tokenised_lately = lru_cache(TOKEN_CACHE_TEXTS if remembers else 0)(self._tokenise)

    @classmethod
    def load(cls, path: Path, *, max_tokens: int, remembers: bool = True) -> Self:
        """Read a tokenizer.json; with `remembers` recent texts are cached and tokenised once.

        Raises:
            CorruptArtifactError: the file is not a tokenizer.
        """
        return cls(*_read(path, max_tokens), remembers=remembers)

    def ids(self, text: str) -> np.ndarray:
        """Return int64 [1, n] with the special tokens, n at most the model's `max_tokens`."""
        return np.array([self._cutting.post_process(self._tokenised(text)).ids], dtype=np.int64)

    def word_spans(self, text: str) -> np.ndarray:
        """Return int32 [n, 2]: first and last character of the word that each token of `ids` is a piece of.

        Special tokens belong to no word: -1, -1.
        """
        return self.ids_and_word_spans(text)[1]

    def ids_and_word_spans(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Return int64 [n], the ids of `ids`, and int32 [n, 2], `word_spans`; the text is tokenised once."""
        encoding = self._cutting.post_process(self._tokenised(text))
        return np.array(encoding.ids, dtype=np.int64), _word_spans(encoding)

    def all_word_spans(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Ids and word spans of the tokens of the whole text, without special tokens."""
        encoding = self._tokenised(text)
        return np.array(encoding.ids, dtype=np.int64), _word_spans(encoding)

    @property
    def special(self) -> int:
        """Number of special tokens in `ids`."""
        return int(self._cutting.num_special_tokens_to_add(is_pair=False))

    def count(self, text: str) -> int:
        """Count the tokens of the whole text, special tokens left out."""
        return self._count_short(text) if len(text) <= COUNT_CACHE_CHARACTERS else self._counted(text)

    def _counted(self, text: str) -> int:
        return len(self._tokenised(text))

    def _tokenised(self, text: str) -> Encoding:
        return self._tokenised_lately(text) if len(text) <= TOKEN_CACHE_CHARACTERS else self._tokenise(text)

    def _tokenise(self, text: str) -> Encoding:
        """The whole text, special tokens left out."""
        return self._counting.encode(clean_text(text), add_special_tokens=False)

    @property
    def counts_add_up(self) -> bool:
        """Whether texts joined by white space have as many tokens as their parts together.

        True for BERT's tokenizers: they split at white space first, and no character depends on its
        neighbours. For other tokenizers it is not known.
        """
        return (
            isinstance(self._counting.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
            and isinstance(self._counting.normalizer, normalizers.BertNormalizer)
            and isinstance(self._counting.model, models.WordPiece)
        )


class PairTokens:
    """The tokenizer of a cross-encoder: a query and a passage become one input; thread-safe."""

    def __init__(self, cutting: Tokenizer, counting: Tokenizer) -> None:
        self._cutting = cutting
        self._counting = counting

    @classmethod
    def load(cls, path: Path, *, max_tokens: int) -> Self:
        """Read a tokenizer.json; of a pair with more than `max_tokens` tokens the longer text is cut.

        Raises:
            CorruptArtifactError: the file is not a tokenizer, or does not separate the texts of a pair.
        """
        cutting, counting = _read(path, max_tokens)
        if not cutting.num_special_tokens_to_add(is_pair=True):
            raise CorruptArtifactError(f"tokenizer has no special tokens around the texts of a pair: {path}")
        return cls(cutting, counting)

    def pairs(self, query: str, passages: Sequence[str]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The query with each passage: ids, and which text each token belongs to (0, 1), int64 [1, n]."""
        asked = self._tokenised(query)
        joined = [self._cutting.post_process(asked, self._tokenised(passage)) for passage in passages]
        return [
            (np.array([one.ids], dtype=np.int64), np.array([one.type_ids], dtype=np.int64)) for one in joined
        ]

    def _tokenised(self, text: str) -> Encoding:
        return self._counting.encode(clean_text(text), add_special_tokens=False)


def _read(path: Path, max_tokens: int) -> tuple[Tokenizer, Tokenizer]:
    """Two tokenizers, because truncation is not set per call: one truncates what the other tokenised.

    The one that truncates has the special tokens alone, and no words: reading them takes most of the time,
    and their table most of the memory.
    """
    try:
        counting = Tokenizer.from_file(str(path))
        cutting = Tokenizer(models.WordLevel())
        cutting.post_processor = counting.post_processor
    except Exception as error:  # the tokenizers package raises bare Exception
        raise CorruptArtifactError(f"tokenizer cannot be read: {path}: {error}") from error
    counting.no_padding()
    counting.no_truncation()
    cutting.enable_truncation(max_length=max_tokens)
    return cutting, counting


def _word_spans(encoding: Encoding) -> np.ndarray:
    """Int32 [n, 2], first and last character of the word of each token; those of a word stand together."""
    words = np.array([-1 if word is None else word for word in encoding.word_ids], dtype=np.int64)
    if not len(words):
        return np.empty((0, 2), dtype=np.int32)
    spans = np.array(encoding.offsets, dtype=np.int32)
    firsts = np.flatnonzero(np.diff(words, prepend=words[0] - 1))
    starts, ends = np.minimum.reduceat(spans[:, 0], firsts), np.maximum.reduceat(spans[:, 1], firsts)
    found = np.repeat(np.stack([starts, ends], axis=1), np.diff(firsts, append=len(words)), axis=0)
    found[words < 0] = -1
    return found
