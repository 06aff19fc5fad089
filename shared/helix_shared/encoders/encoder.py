"""Turns text into unit vectors and codes of its tokens; all services embed with this class.

The same text gives the same bits in every batch, because every text is a run of its own; the codes of its
tokens come from the same run, or from a run of the late-interaction model in the folder. A model is only
loaded if its files match its card. Queries and passages differ by the prefixes of the card.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

import numpy as np

from helix_shared.encoders.late_interaction import LateInteractionModel
from helix_shared.encoders.model import (
    GRAPH_FILE,
    LATE_INTERACTION_FOLDER,
    PROJECTION_FILE,
    QUERY_ENCODER_FOLDER,
    TOKENIZER_FILE,
    ModelCard,
    load_card,
)
from helix_shared.encoders.session import GraphSession
from helix_shared.encoders.shared_runs import SharedRuns, Wanted
from helix_shared.encoders.token_codes import Embedding, QueryTokens, TokenProjection, words_of_codes
from helix_shared.encoders.tokens import TextTokens, filled
from helix_shared.encoders.vector_cache import Cache, VectorCache
from helix_shared.errors import CorruptArtifactError
from helix_shared.telemetry.metrics import EMBEDDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

CACHE_BYTES = 8 * 1024 * 1024
"""About 4,000 vectors of 384 dimensions, or 3,000 with the codes of 40 tokens."""


class Encoder:
    """A loaded sentence encoder; thread-safe; its owner closes it."""

    def __init__(
        self,
        card: ModelCard,
        tokens: TextTokens,
        session: GraphSession | None,
        projection: TokenProjection | None,
        *,
        late: LateInteractionModel | None = None,
        of_queries: Encoder | None = None,
        lanes: int,
        cache: Cache | None,
    ) -> None:
        self.card = card
        self._tokens = tokens
        self._session = session
        self._projection = projection
        self._late = late
        self._of_queries = of_queries
        self._lanes = ThreadPoolExecutor(lanes, thread_name_prefix=f"encoder-{card.name}")
        self._runs = SharedRuns(self._run, self._lanes, cache)

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        lanes: int = 2,
        threads_per_lane: int = 1,
        cache: Cache | None = None,
        remembers: bool = True,
        makes_codes: bool = True,
        embeds_passages: bool = True,
    ) -> Self:
        """Check the files of `folder` against its card and open the model.

        `embed_many` embeds `lanes` texts at once, each with `threads_per_lane` threads: one for throughput,
        two for the latency of a single query. `cache` holds embeddings of this model by text; by default
        `CACHE_BYTES`. Without `remembers` nothing is cached and no run is shared, so the time of a call
        reveals nothing about the texts of other calls. Without `makes_codes` a model without a token
        projection is opened, for its vectors alone. Without `embeds_passages` the encoder of passages of an
        asymmetric pair is not opened.

        Raises:
            NotFoundError: there is no such folder.
            CorruptArtifactError: a file is missing, changed, or cannot be run.
        """
        card = load_card(folder)
        if makes_codes and not card.makes_codes:
            raise CorruptArtifactError(
                f"model has no token projection, an older release made it: {folder}: run `helix models build`"
            )
        of_queries = projection = session = late = None
        if card.has_query_encoder:
            of_queries = cls.load(
                folder / QUERY_ENCODER_FOLDER,
                lanes=1,
                threads_per_lane=threads_per_lane,
                remembers=remembers,
                makes_codes=makes_codes,
            )
        elif makes_codes:
            projection = TokenProjection.load(folder / PROJECTION_FILE)
        tokens = TextTokens.load(folder / TOKENIZER_FILE, max_tokens=card.max_tokens, remembers=remembers)
        if embeds_passages or of_queries is None:
            session = GraphSession(folder / GRAPH_FILE, pooling=card.pooling, threads=threads_per_lane)
        if makes_codes and card.has_late_interaction:
            late = LateInteractionModel.load(
                folder / LATE_INTERACTION_FOLDER, threads=threads_per_lane, remembers=remembers
            )
        kept = (cache or VectorCache(CACHE_BYTES)) if remembers else None
        return cls(
            card, tokens, session, projection, late=late, of_queries=of_queries, lanes=lanes, cache=kept
        )

    def embed(self, text: str) -> np.ndarray:
        """Embed a passage; float32 [dimensions], length one, read-only.

        Runs in the calling thread. Tokens beyond the model's `max_tokens` are ignored. Lone surrogates and
        NUL count as U+FFFD.

        Raises:
            InvalidInputError: the text is empty or white space.
        """
        return self._runs.one(Wanted(self.card.passage_prefix + filled(text, field="text"))).vector

    def embed_with_codes(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Embed a passage with the codes of its tokens, in one run of the model.

        Returns the vector as `embed`, and uint8 [n, TOKEN_CODE_BYTES]: the codes of the n tokens that the
        model's projection codes, in the order of the text; read-only. The prefix of the card has no codes.

        Raises:
            InvalidInputError: the text is empty or white space.
        """
        found = self._runs.one(self._coded(filled(text, field="text")))
        return found.vector, found.required_codes

    def embed_query(self, text: str) -> np.ndarray:
        """Embed a question; like `embed`, with the card's query prefix, or with the encoder of queries."""
        if self._of_queries is not None:
            return self._of_queries.embed_query(text)
        return self._runs.one(Wanted(self.card.query_prefix + filled(text, field="text"))).vector

    def embed_query_tokens(self, text: str) -> QueryTokens:
        """Embed a question with the projected states of its coded tokens, in one run; nothing is cached.

        A late-interaction model takes a run of its own.

        Raises:
            InvalidInputError: the text is empty or white space.
        """
        if self._of_queries is not None:
            return self._of_queries.embed_query_tokens(text)
        prefix = len(self.card.query_prefix)
        prefixed = self.card.query_prefix + filled(text, field="text")
        ids = self._tokens.ids(prefixed)
        states = self._states(ids)
        vector, projection = self._required_session().pooled(states), self.required_projection()
        if self._late is not None:
            asked = self._late.query(text)
            chosen = projection.is_coded(asked.ids)
            return QueryTokens(vector, projection.queries(asked.states[chosen]), asked.words[chosen], text)
        words = self._tokens.word_spans(prefixed)
        chosen = projection.is_coded(ids[0]) & (words[:, 0] >= prefix)
        places = words[chosen] - np.int32(prefix)
        return QueryTokens(vector, projection.queries(states[chosen]), places, text)

    def coded_words(self, text: str, count: int, before: str = "") -> list[tuple[int, int] | None]:
        """First and last character in a memory's text of the word of each of its `count` codes.

        `before` is what was embedded before the text, as the speaker. Where codes of more than that stand
        before it, as of headings, words and codes are matched from the end. None: a code of what stands
        before the text; all, where that is not known and the text was cut at the model's limit.
        """
        if self._of_queries is not None:
            return self._of_queries.coded_words(text, count, before)
        tokens, prefix, limit = self._tokens, self.card.passage_prefix, self.card.max_tokens
        if self._late is not None:
            tokens, prefix, limit = self._late.tokens, "", self._late.card.max_text_tokens
        return words_of_codes(tokens, self.required_projection(), text, count, prefix, before, limit)

    def embed_many(self, texts: Sequence[str]) -> np.ndarray:
        """Embed passages, one run per distinct text; more than a few are distributed over the lanes.

        Returns float32 [len(texts), dimensions] in the order of `texts`, each row equal to `embed` of it.

        Raises:
            InvalidInputError: a text is empty or white space; nothing is embedded.
        """
        found = self._runs.many([Wanted(text) for text in self._passages(texts)])
        return self._rows(found)

    def embed_many_with_codes(
        self, texts: Sequence[str], without: Sequence[str] = ()
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Embed passages with the codes of their tokens, and those of `without` beside them without codes.

        Returns float32 [len(texts) + len(without), dimensions], and the codes of each of `texts` as
        `embed_with_codes` gives them.

        Raises:
            InvalidInputError: a text is empty or white space; nothing is embedded.
        """
        passages = self._passages([*texts, *without])
        coded = [self._coded(text) for text in texts]
        found = self._runs.many([*coded, *map(Wanted, passages[len(texts) :])])
        return self._rows(found), [one.required_codes for one in found[: len(texts)]]

    def count_tokens(self, text: str) -> int:
        """Count the tokens of the whole text, without prefix and special tokens."""
        return self._tokens.count(text)

    @property
    def counts_add_up(self) -> bool:
        """Whether texts joined by white space have as many tokens as their parts together."""
        return self._tokens.counts_add_up

    def close(self) -> None:
        """End the lanes after their current text; `embed_many` cannot be used afterwards."""
        if self._of_queries is not None:
            self._of_queries.close()
        self._lanes.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _passages(self, texts: Sequence[str]) -> list[str]:
        texts = [filled(text, field=f"texts[{index}]") for index, text in enumerate(texts)]
        return [self.card.passage_prefix + text for text in texts]

    def _coded(self, text: str) -> Wanted:
        return Wanted(self.card.passage_prefix + text, is_coded=True)

    def _rows(self, found: Sequence[Embedding]) -> np.ndarray:
        rows = np.empty((len(found), self.card.dimensions), dtype=np.float32)
        for row, embedding in enumerate(found):
            rows[row] = embedding.vector
        return rows

    def _run(self, wanted: Wanted) -> Embedding:
        """One run of the model."""
        ids = self._tokens.ids(wanted.text)
        states = self._states(ids)
        vector = self._required_session().pooled(states)
        codes = self._codes(wanted.text, ids[0], states) if wanted.is_coded else None
        # Callers share cached arrays, so they are read-only.
        for array in (vector, codes):
            if array is not None:
                array.setflags(write=False)
        return Embedding(vector, codes)

    def _states(self, ids: np.ndarray) -> np.ndarray:
        states = self._required_session().states(ids)
        EMBEDDINGS.labels("model").inc()
        return states

    def _codes(self, text: str, ids: np.ndarray, states: np.ndarray) -> np.ndarray:
        prefix = len(self.card.passage_prefix)
        if self._of_queries is not None:
            return self._of_queries.embed_with_codes(text[prefix:])[1]
        projection = self.required_projection()
        if self._late is not None:
            run = self._late.passage(text[prefix:])
            return projection.codes(run.states[projection.is_coded(run.ids)])
        chosen = projection.is_coded(ids)
        if prefix:
            chosen &= self._tokens.word_spans(text)[:, 0] >= prefix
        return projection.codes(states[chosen])

    def required_projection(self) -> TokenProjection:
        """The token projection of the model.

        Raises:
            CorruptArtifactError: the model was opened for its vectors alone.
        """
        if self._of_queries is not None:
            return self._of_queries.required_projection()
        if self._projection is None:
            raise CorruptArtifactError(f"model was opened without its token projection: {self.card.name}")
        return self._projection

    def _required_session(self) -> GraphSession:
        if self._session is None:
            raise CorruptArtifactError(f"model was opened for queries alone: {self.card.name}")
        return self._session
