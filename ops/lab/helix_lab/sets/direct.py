"""The direct path: a corpus is built and asked in this process, for fast iteration.

The query service's own checks, stages and replies answer; only gRPC and NATS are missing. A test compares its
rankings with those of `stream`.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_lab.sets.answers import Answer
from helix_lab.sets.ask import answer_of, names_of, request_of
from helix_lab.sets.build import BUILT, Advance, build_corpus, corpus_key
from helix_lab.sets.data import EvaluationSet, Question
from helix_lab.sets.packs import documents_within
from helix_lab.sets.vector_store import VectorStore
from helix_query.api.requests import query_of
from helix_query.api.responses.recall import recall_response
from helix_query.generations.current import CurrentGeneration
from helix_query.profile.cross_encoders import load_cross_encoders
from helix_query.profile.profile import DEFAULT_PROFILE, RankingProfile
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.recall import recall
from helix_shared.artifacts.generation.folders import GRAPH, SIGNALS, current_number, folder_of
from helix_shared.artifacts.graph.snapshot import GraphSnapshot
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot

CHANNEL_SECONDS: Final = 30.0
"""A busy machine must not change a ranking; the service's own deadline is tested elsewhere."""
UNBOUNDED: Final = 1_000
"""Recalls that may compare at once: no thread is kept for others."""


@dataclass(frozen=True, slots=True)
class DirectCorpus:
    """One set, ready to be asked."""

    data: EvaluationSet
    served: Snapshot
    profiles: Mapping[str, RankingProfile]
    lanes: Mapping[str, Executor]
    names: Mapping[str, str]

    def ask(self, question: Question, profile: str, *, top_k: int) -> Answer:
        """Answer one question; the time includes everything but the transport and the further packs."""
        request = request_of(self.data, question, profile=profile, top_k=top_k)
        started = time.perf_counter()
        asked = query_of(request, profiles=self.profiles, clock=datetime.now(UTC))
        context = RecallContext.of(asked, self.served, self.profiles[asked.profile])
        found = recall(context, lanes=self.lanes, channel_deadline_seconds=CHANNEL_SECONDS)
        seconds = time.perf_counter() - started
        reply = recall_response(found, asked, self.served, total_seconds=seconds)
        answer = answer_of(reply, question, self.names, milliseconds=seconds * 1_000)
        return replace(answer, packed_within=documents_within(context, found, self.names))


def corpus_folder(data: EvaluationSet, home: Path, models: Path) -> Path:
    """Folder of the built corpus of `data` below the lab's `home`."""
    model = read_card(default_model(models)).checksum
    return home / "corpora" / f"{data.name.replace(':', '-')}-{corpus_key(data, model)}"


def build_direct(data: EvaluationSet, home: Path, models: Path, *, advance: Advance = lambda: None) -> bool:
    """Build the corpus of `data` unless it is there; returns whether it had anything to do.

    Raises: as `build_corpus`.
    """
    folder = default_model(models)
    with VectorStore(home / "vectors", model=read_card(folder).checksum) as store:
        encoder = Encoder.load(folder, lanes=2, cache=store)
        with encoder:
            return build_corpus(data, corpus_folder(data, home, models), encoder, advance=advance)


def open_graph(
    data: EvaluationSet, home: Path, models: Path
) -> tuple[GraphSnapshot, NDArray[np.int64]] | None:
    """The graph of the built corpus, and the position in `data.documents` of every ordinal (-1: erased).

    None where the corpus is not built.
    """
    root = corpus_folder(data, home, models)
    number = current_number(root)
    if not (root / BUILT).exists() or number is None:
        return None
    folder = folder_of(root, number)
    # the documents are the events of the log, in their order
    return GraphSnapshot.open(folder / GRAPH), Signals.open(folder / SIGNALS).stream_sequence - 1


@contextlib.contextmanager
def open_direct(
    data: EvaluationSet, home: Path, models: Path, profiles: Mapping[str, RankingProfile]
) -> Iterator[DirectCorpus]:
    """The built corpus of `data`, opened, verified and warmed as the query service does it."""
    with contextlib.ExitStack() as held:
        scratch = held.enter_context(tempfile.TemporaryDirectory(prefix="helix-lab-"))
        serving = CurrentGeneration(
            corpus_folder(data, home, models),
            models,
            scratch=Path(scratch),
            profile=profiles[DEFAULT_PROFILE],
            cross_encoders=load_cross_encoders(models, profiles, recalls=UNBOUNDED),
        )
        held.callback(serving.close)
        serving.refresh()
        served = held.enter_context(serving.lease())
        lanes = {name: held.enter_context(ThreadPoolExecutor(1)) for name in LANES}
        yield DirectCorpus(data, served, profiles, lanes, names_of(data))
