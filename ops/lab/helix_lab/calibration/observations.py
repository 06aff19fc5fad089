"""The features that `helix_query.recall.stages.abstain` computes for each question, with the judgements.

The features come from whole recalls, so a change of the pipeline needs no change here. The observations of a
set are kept as a file beside the lab's runs, known by what they depend on: other fits cost seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import helix_query
from helix_lab.calibration.unanswerable_questions import Asked, Kind
from helix_lab.sets.ask import request_of
from helix_lab.sets.build import code_digest
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.direct import CHANNEL_SECONDS, DirectCorpus
from helix_lab.sets.kept_files import kept_file
from helix_query.api.requests import query_of
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import DEFAULT_PROFILE, RankingProfile
from helix_query.recall.context import RecallContext
from helix_query.recall.recall import recall
from helix_query.recall.stages.abstain import ANSWER_MEMORIES
from helix_shared.machine.whole_file import write_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.result import Features

SILENT: Mapping[str, object] = {"abstain": {"threshold": 0.0, "memory": {}, "answer": {}}}
"""Models without coefficients: the features are returned and nothing is held back."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One question, the memories found for it, and which of them are relevant."""

    set_name: str
    kind: Kind
    donor: str
    text: str
    tenant: str
    memories: Mapping[str, NDArray[np.float64]]
    """Features of its first memories."""
    relevant: tuple[bool, ...]
    """Parallel to them."""
    answer: Mapping[str, float]

    @property
    def answered(self) -> bool:
        """At least one memory is relevant."""
        return any(self.relevant)


def observe(
    corpus: DirectCorpus,
    asked: Sequence[Asked],
    profile: RankingProfile,
    *,
    advance: Callable[[], None] = lambda: None,
) -> list[Observation]:
    """One observation for every question the router does not skip and both main channels answer."""
    silent = with_constants(profile, SILENT)
    return list(_observed(corpus, asked, silent, advance))


def _observed(
    corpus: DirectCorpus, asked: Sequence[Asked], profile: RankingProfile, advance: Callable[[], None]
) -> Iterator[Observation]:
    for one in asked:
        request = request_of(corpus.data, one.question, profile="", top_k=ANSWER_MEMORIES)
        found = recall(
            RecallContext.of(
                query_of(request, profiles={DEFAULT_PROFILE}, clock=datetime.now(UTC)),
                corpus.served,
                profile,
            ),
            lanes=corpus.lanes,
            channel_deadline_seconds=CHANNEL_SECONDS,
        )
        advance()
        if found.estimate is None:
            continue
        # the id of a foreign question is not in the host's judgements, so nothing is relevant to it
        judged = corpus.data.relevant.get(one.question.id, {}) if one.kind == "answerable" else {}
        documents = [corpus.names[row.row["event_id"]] for row in found.rows]
        relevant = tuple(document in judged for document in documents)
        yield _observation(corpus, one, found.estimate.features, relevant)


def _observation(
    corpus: DirectCorpus, one: Asked, features: Features, relevant: tuple[bool, ...]
) -> Observation:
    return Observation(
        corpus.data.name,
        one.kind,
        one.donor,
        one.question.text,
        one.question.tenant,
        features.memories,
        relevant,
        features.answer,
    )


def kept_at(
    folder: Path, data: EvaluationSet, asked: Sequence[Asked], profile: RankingProfile, corpus: str
) -> Path:
    """File of the observations of `asked` in `folder`; `corpus` is the key of the built corpus."""
    inputs = (
        corpus,
        code_digest((helix_query,), without_toml_of="profile"),
        profile.model_dump_json(exclude={"abstain"}),
        *(
            f"{one.question} {one.kind} {one.donor} {sorted(data.relevant.get(one.question.id, {}))}"
            for one in asked
        ),
    )
    return kept_file(folder, data.name, inputs)


def load(path: Path) -> list[Observation] | None:
    """The observations of a file; None where there is none."""
    if not path.exists():
        return None
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [
        Observation(
            **row
            | {"memories": {name: np.array(values) for name, values in row["memories"].items()}}
            | {"relevant": tuple(row["relevant"])}
        )
        for row in rows
    ]


def save(path: Path, observations: Sequence[Observation]) -> None:
    """Write them whole or not at all."""
    write_whole(path, json.dumps([asdict(one) for one in observations], default=np.ndarray.tolist).encode())
