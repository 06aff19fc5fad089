"""Turns text into unit vectors; all services embed with this class.

The same text gives the same bits in every batch, because every text is a run of its own. A model is only
loaded if its files match its card. Queries and passages differ by the prefixes of the card.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

import numpy as np

from helix_shared.encoders.model import GRAPH_FILE, TOKENIZER_FILE, ModelCard, load_card
from helix_shared.encoders.session import GraphSession
from helix_shared.encoders.tokens import TextTokens
from helix_shared.encoders.vector_cache import Cache, VectorCache
from helix_shared.errors import InvalidInputError
from helix_shared.metrics import EMBEDDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

CACHE_BYTES = 8 * 1024 * 1024
"""About 4,000 vectors of 384 dimensions."""
FEW = 4
"""Up to this many texts are embedded in the calling thread; a turn and the previous one have no more.

The caller is usually a worker's lane and all cores are busy; other threads would cost a tenth of the
throughput.
"""


class Encoder:
    """A loaded sentence encoder; thread-safe; its owner closes it."""

    def __init__(
        self,
        card: ModelCard,
        tokens: TextTokens,
        session: GraphSession,
        *,
        lanes: int,
        cache: Cache,
        remembers: bool = True,
    ) -> None:
        self.card = card
        self._remembers = remembers
        self._tokens = tokens
        self._session = session
        self._cache = cache
        self._running: dict[str, Future[np.ndarray]] = {}
        self._lanes = ThreadPoolExecutor(lanes, thread_name_prefix=f"encoder-{card.name}")

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        lanes: int = 2,
        threads_per_lane: int = 1,
        cache: Cache | None = None,
        remembers: bool = True,
    ) -> Self:
        """Check the files of `folder` against its card and open the model.

        `embed_many` embeds `lanes` texts at once, each with `threads_per_lane` threads: one for throughput,
        two for the latency of a single query. `cache` holds vectors of this model by text; by default
        `CACHE_BYTES`. Without `remembers` nothing is cached and no run is shared, so the time of a call
        reveals nothing about the texts of other calls.

        Raises:
            NotFoundError: there is no such folder.
            CorruptArtifactError: a file is missing, changed, or cannot be run.
        """
        card = load_card(folder)
        tokens = TextTokens.load(folder / TOKENIZER_FILE, max_tokens=card.max_tokens, remembers=remembers)
        session = GraphSession(folder / GRAPH_FILE, pooling=card.pooling, threads=threads_per_lane)
        cache = cache or VectorCache(CACHE_BYTES)
        return cls(card, tokens, session, lanes=lanes, cache=cache, remembers=remembers)

    def embed(self, text: str) -> np.ndarray:
        """Embed a passage; float32 [dimensions], length one, read-only.

        Runs in the calling thread. Tokens beyond the model's `max_tokens` are ignored. Lone surrogates and
        NUL count as U+FFFD.

        Raises:
            InvalidInputError: the text is empty or white space.
        """
        return self._vector(self.card.passage_prefix + _filled(text, field="text"))

    def embed_query(self, text: str) -> np.ndarray:
        """Embed a question; like `embed`, with the card's query prefix."""
        return self._vector(self.card.query_prefix + _filled(text, field="text"))

    def embed_many(self, texts: Sequence[str]) -> np.ndarray:
        """Embed passages, one run per distinct text; more than `FEW` are distributed over the lanes.

        Returns float32 [len(texts), dimensions] in the order of `texts`, each row equal to `embed` of it.

        Raises:
            InvalidInputError: a text is empty or white space; nothing is embedded.
        """
        filled = [_filled(text, field=f"texts[{index}]") for index, text in enumerate(texts)]
        prefixed = [self.card.passage_prefix + text for text in filled]
        distinct = dict.fromkeys(prefixed)
        vectors = {text: vector for text in distinct if (vector := self._cached(text)) is not None}
        new = [text for text in distinct if text not in vectors]
        vectors.update(self._computed_here(new) if len(new) <= FEW else self._computed_in_lanes(new))
        rows = np.empty((len(filled), self.card.dimensions), dtype=np.float32)
        for row, text in enumerate(prefixed):
            rows[row] = vectors[text]
        return rows

    def count_tokens(self, text: str) -> int:
        """Count the tokens of the whole text, without prefix and special tokens."""
        return self._tokens.count(text)

    @property
    def counts_add_up(self) -> bool:
        """Whether texts joined by white space have as many tokens as their parts together."""
        return self._tokens.counts_add_up

    def close(self) -> None:
        """End the lanes after their current text; `embed_many` cannot be used afterwards."""
        self._lanes.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _vector(self, text: str) -> np.ndarray:
        cached = self._cached(text)
        return self._computed(text) if cached is None else cached

    def _cached(self, text: str) -> np.ndarray | None:
        vector = self._cache.get(text) if self._remembers else None
        if vector is not None:
            EMBEDDINGS.labels("cache").inc()
        return vector

    def _computed_here(self, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Vectors by text; texts that another thread is embedding come last, so that waiting is short."""
        vectors: dict[str, np.ndarray] = {}
        left = []
        for text in texts:
            if text in self._running:
                left.append(text)
            else:
                vectors[text] = self._computed(text)
        return vectors | {text: self._vector(text) for text in left}

    def _computed_in_lanes(self, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The same in the lanes."""
        ordered = sorted(texts, key=self._running.__contains__)
        return dict(zip(ordered, self._lanes.map(self._computed, ordered), strict=True))

    def _computed(self, text: str) -> np.ndarray:
        """The vector of a text that is not cached; two threads that need the same one compute it once."""
        if not self._remembers:
            return self._run(text)
        promised: Future[np.ndarray] = Future()
        running = self._running.setdefault(text, promised)
        if running is not promised:
            EMBEDDINGS.labels("cache").inc()
            return running.result()
        try:
            vector = self._run(text)
            self._cache.put(text, vector)
            promised.set_result(vector)
        except BaseException as error:
            promised.set_exception(error)
            raise
        finally:
            del self._running[text]
        return vector

    def _run(self, text: str) -> np.ndarray:
        """One run of the model."""
        vector = self._session.vector(self._tokens.ids(text))
        # Callers share a cached array, so it is read-only.
        vector.setflags(write=False)
        EMBEDDINGS.labels("model").inc()
        return vector


def _filled(text: str, *, field: str) -> str:
    if not text or text.isspace():
        raise InvalidInputError(field, "must hold more than white space to be embedded")
    return text
