"""Scores passages for a query with a cross-encoder: both texts are read together, one run for each pair.

A pair is a run of its own, as every text of an `Encoder`: a batch would be padded to its longest pair, and
with dynamic quantisation a logit would depend on the other pairs. It is also the smallest step between two
looks at the clock.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.encoders.model import GRAPH_FILE, TOKENIZER_FILE, RerankerCard, load_reranker_card
from helix_shared.encoders.session import PairSession
from helix_shared.encoders.tokens import PairTokens
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from threading import Semaphore

    from numpy.typing import NDArray

MOST_PAIRS: Final = 30
"""Passages that one call compares; a hundred would take seconds on one core. No setting raises it."""
MOST_TOKENS: Final = 256
"""Longest pair in tokens, even if the model reads more. No setting raises it."""
SAMPLE_TOKENS: Final = 64
"""Tokens of the pair that is timed when a model is loaded."""
_RUNS: Final = 4


class CrossEncoder:
    """A loaded cross-encoder; thread-safe."""

    def __init__(
        self, card: RerankerCard, tokens: PairTokens, session: PairSession, places: Semaphore
    ) -> None:
        self.card = card
        self._tokens = tokens
        self._session = session
        self._places = places
        self._seconds_per_token = self._timed()

    @classmethod
    def load(cls, folder: Path, *, threads: int = 1, places: Semaphore) -> Self:
        """Check the files of `folder` against its card, open the model and time it.

        A pair is run by `threads` threads. `places` bounds how many calls of `logits` run at once; models may
        share it.

        Raises:
            NotFoundError: there is no such folder.
            CorruptArtifactError: a file is missing, changed, or cannot be run.
        """
        card = load_reranker_card(folder)
        tokens = PairTokens.load(folder / TOKENIZER_FILE, max_tokens=min(card.max_tokens, MOST_TOKENS))
        session = PairSession(folder / GRAPH_FILE, threads=threads)
        return cls(card, tokens, session, places)

    @property
    def pair_seconds(self) -> float:
        """Seconds of a pair of `SAMPLE_TOKENS` tokens, at the best pace so far."""
        return self._seconds_per_token * SAMPLE_TOKENS

    def logits(
        self, query: str, passages: Sequence[str], *, until: float = math.inf
    ) -> NDArray[np.float64] | None:
        """One logit for each passage, in their order; None: no place is free, or the time is too short.

        All passages are scored or none, so that the logits can be compared. After the first pair it ends as
        soon as the rest would not be ready by `until` (monotonic clock) at the best pace so far, or the next
        pair at that of this call. The longer text of a pair beyond `MOST_TOKENS` is cut.

        Raises:
            InvalidInputError: more than `MOST_PAIRS` passages.
            CorruptArtifactError: the graph cannot be run on a pair.
        """
        if len(passages) > MOST_PAIRS:
            raise InvalidInputError("passages", f"at most {MOST_PAIRS} can be compared, are {len(passages)}")
        if not self._places.acquire(blocking=False):
            return None
        try:
            return self._logits(query, passages, until)
        finally:
            self._places.release()

    def _logits(self, query: str, passages: Sequence[str], until: float) -> NDArray[np.float64] | None:
        pairs = self._tokens.pairs(query, passages)
        lengths = [ids.shape[1] for ids, _ in pairs]
        found, started = np.empty(len(pairs)), time.monotonic()
        for number, pair in enumerate(pairs):
            now, done = time.monotonic(), sum(lengths[:number])
            own = (now - started) / done if done else self._seconds_per_token
            # the first pair is run to know the pace, which may be better than it was
            rest = sum(lengths[number:]) if number else lengths[0]
            if now + max(rest * self._seconds_per_token, lengths[number] * own) > until:
                return None
            found[number] = self._session.logit(*pair)
            taken = (time.monotonic() - now) / lengths[number]
            self._seconds_per_token = min(self._seconds_per_token, taken)
        return found

    def _timed(self) -> float:
        """Seconds a token; the first run also allocates.

        By the processor time of this thread: a busy moment must not make the model look slow.
        """
        [pair] = self._tokens.pairs("word", ["word " * SAMPLE_TOKENS])
        ids, types = (array[:, :SAMPLE_TOKENS] for array in pair)
        taken = []
        for _ in range(_RUNS):
            started = time.thread_time()
            self._session.logit(ids, types)
            taken.append(time.thread_time() - started)
        fastest: float = min(taken) / ids.shape[1]
        return fastest
