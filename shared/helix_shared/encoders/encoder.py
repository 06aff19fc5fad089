"""Text in, unit vector out: the one class the services embed with.

Guarantees: the same text gives the bitwise same vector whichever method or lane it takes and whatever
is embedded beside it, since every text is a run of its own. A model is only loaded when its files match its
card. Query and passage differ by the prefix the card names.
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
from helix_shared.telemetry import EMBEDDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

CACHE_BYTES = 8 * 1024 * 1024
"""About 4,000 vectors of 384 dimensions."""
FEW = 4
"""So many texts are embedded by the caller: a turn and the one it completes have no more. Who calls is a
worker's lane himself, and all cores are busy; handing on took a tenth of them.
"""


class Encoder:
    """A loaded sentence encoder; safe to use from several threads, closed by its owner."""

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
        self._under_way: dict[str, Future[np.ndarray]] = {}
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

        `lanes` is how many texts `embed_many` has in work at once, `threads_per_lane` how many threads one
        text may use: one for throughput, two for the latency of a single query. `cache` keeps vectors of
        this model by text; by default `CACHE_BYTES` of them. Without `remembers` nothing is kept of a text
        and no run is shared: how long a call takes tells nothing of the texts of other calls.

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
        """Embed a text that is stored; float32 [dimensions], length one, read-only.

        Runs in the calling thread. What exceeds the model's `max_tokens` is cut off. Lone surrogates and
        NUL count as U+FFFD.

        Raises:
            InvalidInputError: the text is empty or white space.
        """
        return self._vector(self.card.passage_prefix + _filled(text, field="text"))

    def embed_query(self, text: str) -> np.ndarray:
        """Embed a question; like `embed`, with the card's query prefix."""
        return self._vector(self.card.query_prefix + _filled(text, field="text"))

    def embed_many(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts that are stored, one run per distinct text, spread over the lanes when they are many.

        Returns float32 [len(texts), dimensions] in the order of `texts`, each row equal to `embed` of it.

        Raises:
            InvalidInputError: a text is empty or white space; nothing is embedded.
        """
        filled = [_filled(text, field=f"texts[{index}]") for index, text in enumerate(texts)]
        prefixed = [self.card.passage_prefix + text for text in filled]
        distinct = dict.fromkeys(prefixed)
        vectors = {text: vector for text in distinct if (vector := self._known(text)) is not None}
        new = [text for text in distinct if text not in vectors]
        vectors.update(self._made_here(new) if len(new) <= FEW else self._made_in_lanes(new))
        rows = np.empty((len(filled), self.card.dimensions), dtype=np.float32)
        for row, text in enumerate(prefixed):
            rows[row] = vectors[text]
        return rows

    def count_tokens(self, text: str) -> int:
        """Count the tokens of the whole text: not cut, no prefix, no special tokens."""
        return self._tokens.count(text)

    @property
    def counts_add_up(self) -> bool:
        """Whether texts joined by white space have as many tokens as their parts together."""
        return self._tokens.counts_add_up

    def close(self) -> None:
        """Let the lanes finish what they have begun and end them; `embed_many` is over after this."""
        self._lanes.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _vector(self, text: str) -> np.ndarray:
        known = self._known(text)
        return self._made(text) if known is None else known

    def _known(self, text: str) -> np.ndarray | None:
        vector = self._cache.get(text) if self._remembers else None
        if vector is not None:
            EMBEDDINGS.labels("cache").inc()
        return vector

    def _made_here(self, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Vectors by text: what another thread makes just now is asked for last, instead of waited for."""
        vectors: dict[str, np.ndarray] = {}
        left = []
        for text in texts:
            if text in self._under_way:
                left.append(text)
            else:
                vectors[text] = self._made(text)
        return vectors | {text: self._vector(text) for text in left}

    def _made_in_lanes(self, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The same, spread over the lanes."""
        ordered = sorted(texts, key=self._under_way.__contains__)
        return dict(zip(ordered, self._lanes.map(self._made, ordered), strict=True))

    def _made(self, text: str) -> np.ndarray:
        """The vector of a text that is not kept; two threads that need the same one make it once."""
        if not self._remembers:
            return self._run(text)
        promised: Future[np.ndarray] = Future()
        under_way = self._under_way.setdefault(text, promised)
        if under_way is not promised:
            EMBEDDINGS.labels("cache").inc()
            return under_way.result()
        try:
            vector = self._run(text)
            self._cache.put(text, vector)
            promised.set_result(vector)
        except BaseException as error:
            promised.set_exception(error)
            raise
        finally:
            del self._under_way[text]
        return vector

    def _run(self, text: str) -> np.ndarray:
        """One run of the model."""
        vector = self._session.vector(self._tokens.ids(text))
        # Callers share a kept array, so none of them may write into it.
        vector.setflags(write=False)
        EMBEDDINGS.labels("model").inc()
        return vector


def _filled(text: str, *, field: str) -> str:
    if not text or text.isspace():
        raise InvalidInputError(field, "must hold more than white space to be embedded")
    return text
