"""What every question of a set gains at several fixed shares of the dense channel, and its features.

The gains are those of the whole pipeline, not of the fusion alone: the graph and the ranking follow. Features
and gains of a set are kept as a file beside the lab's runs, known by what they depend on, so that fits with
other features or penalties cost seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

import helix_query
from helix_lab.channel_share.kinds import metric_of
from helix_lab.measures.metrics import METRICS, score
from helix_lab.sets.build import code_digest
from helix_lab.sets.kept_files import kept_file
from helix_query.profile.overrides import with_constants
from helix_shared.machine.whole_file import write_whole

if TYPE_CHECKING:
    from helix_lab.sets.cached.corpus import CachedCorpus
    from helix_lab.sets.data import EvaluationSet
    from helix_query.profile.profile import RankingProfile

SHARES: Final = tuple(step / 10 for step in range(11))


@dataclass(frozen=True, slots=True)
class Curves:
    """One set: features and metrics of its questions; skipped questions are left out."""

    set_name: str
    features: dict[str, list[float]]
    """By name, [questions]."""
    metrics: dict[str, list[list[float]]]
    """By name, [questions][shares]."""

    def __len__(self) -> int:
        return len(self.metrics["R@10"])

    def rows(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Features as [questions, names]."""
        return np.array([self.features[name] for name in names], np.float64).T

    def gains(self, metric: str) -> NDArray[np.float64]:
        """A metric as [questions, shares], 0 to 1."""
        return np.array(self.metrics[metric], np.float64).reshape(len(self), len(SHARES))

    @property
    def target(self) -> NDArray[np.float64]:
        """What a fit raises: the mean of the set's main metric and nDCG@10, which has finer steps."""
        return (self.gains(metric_of(self.set_name)) + self.gains("nDCG@10")) / 2


def curves_of(
    corpus: CachedCorpus,
    data: EvaluationSet,
    profile: RankingProfile,
    *,
    advance: Callable[[], None] = lambda: None,
) -> Curves:
    """Ask all answerable questions with each of `SHARES`."""
    features = {
        question.id: found
        for question in data.answerable
        if (found := corpus.share_features(profile, question)) is not None
    }
    metrics: dict[str, list[list[float]]] = {name: [[] for _ in features] for name in METRICS}
    for share in SHARES:
        scores = score(corpus.run(at_share(profile, share), data.answerable), data)
        for name, by_question in metrics.items():
            for row, question in zip(by_question, features, strict=True):
                row.append(scores[question][name])
        advance()
    names = next(iter(features.values()), {})
    by_name = {name: [found[name] for found in features.values()] for name in names}
    return Curves(data.name, by_name, metrics)


def at_share(profile: RankingProfile, share: float) -> RankingProfile:
    """`profile` with one share of the dense channel for every query."""
    weights = {"dense": share, "lexical": 1.0 - share}
    return with_constants(profile, {"fuse.adaptive": None, "fuse.by_intent": {}, "fuse.weights": weights})


def kept_at(folder: Path, data: EvaluationSet, profile: RankingProfile, corpus: str) -> Path:
    """File of the curves of `data` in `folder`; `corpus` is the key of the built corpus."""
    inputs = (
        corpus,
        code_digest((helix_query,), without_toml_of="profile"),
        at_share(profile, 1.0).model_dump_json(exclude={"abstain"}),
        *(
            f"{one.id} {one.text} {one.timestamp} {one.tenant} {data.relevant.get(one.id)}"
            for one in data.questions
        ),
    )
    return kept_file(folder, data.name, inputs)


def load(path: Path) -> Curves | None:
    """The curves of a file; None where there is none."""
    return Curves(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def save(path: Path, curves: Curves) -> None:
    """Write them whole or not at all."""
    write_whole(path, json.dumps(asdict(curves)).encode())
