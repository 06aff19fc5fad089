"""Shares runs of a model between threads: cached embeddings, and those that another thread computes."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helix_shared.telemetry.metrics import EMBEDDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from helix_shared.encoders.token_codes import Embedding
    from helix_shared.encoders.vector_cache import Cache

FEW = 4
"""Up to this many texts are embedded in the calling thread; a turn and the previous one have no more.

The caller is usually a worker's lane and all cores are busy; other threads would cost a tenth of the
throughput.
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A text with its prefix, and whether its tokens need codes."""

    text: str
    is_coded: bool = False


class SharedRuns:
    """Embeds by `run`, once for each text; thread-safe. Without a cache nothing is shared."""

    def __init__(self, run: Callable[[Wanted], Embedding], lanes: Executor, cache: Cache | None) -> None:
        self._run = run
        self._lanes = lanes
        self._cache = cache
        self._running: dict[Wanted, Future[Embedding]] = {}

    def many(self, wanted: Sequence[Wanted]) -> list[Embedding]:
        """One embedding for each of `wanted`, with one run for each distinct one that is not cached."""
        distinct = dict.fromkeys(wanted)
        known = {one: embedding for one in distinct if (embedding := self._cached(one)) is not None}
        new = [one for one in distinct if one not in known]
        known.update(self._computed_here(new) if len(new) <= FEW else self._computed_in_lanes(new))
        return [known[one] for one in wanted]

    def one(self, wanted: Wanted) -> Embedding:
        """The embedding of one text, from the cache or from a run in the calling thread."""
        cached = self._cached(wanted)
        return self._computed(wanted) if cached is None else cached

    def _cached(self, wanted: Wanted) -> Embedding | None:
        found = self._cache.get(wanted.text) if self._cache is not None else None
        if found is None or (wanted.is_coded and found.codes is None):
            return None
        EMBEDDINGS.labels("cache").inc()
        return found

    def _computed_here(self, texts: Sequence[Wanted]) -> Mapping[Wanted, Embedding]:
        """Embeddings by text; those that another thread is making come last, so that waiting is short."""
        found: dict[Wanted, Embedding] = {}
        left = []
        for text in texts:
            if text in self._running:
                left.append(text)
            else:
                found[text] = self._computed(text)
        return found | {text: self.one(text) for text in left}

    def _computed_in_lanes(self, texts: Sequence[Wanted]) -> Mapping[Wanted, Embedding]:
        """The same in the lanes."""
        ordered = sorted(texts, key=self._running.__contains__)
        return dict(zip(ordered, self._lanes.map(self._computed, ordered), strict=True))

    def _computed(self, wanted: Wanted) -> Embedding:
        """The embedding of a text that is not cached; two threads that need the same one compute it once."""
        if self._cache is None:
            return self._run(wanted)
        promised: Future[Embedding] = Future()
        running = self._running.setdefault(wanted, promised)
        if running is not promised:
            EMBEDDINGS.labels("cache").inc()
            return running.result()
        try:
            embedding = self._run(wanted)
            self._cache.put(wanted.text, embedding)
            promised.set_result(embedding)
        except BaseException as error:
            promised.set_exception(error)
            raise
        finally:
            del self._running[wanted]
        return embedding
