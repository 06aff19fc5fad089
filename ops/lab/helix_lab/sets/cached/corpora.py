"""Sets opened for `ablate` and `tune`, which ask them repeatedly in this process.

Settings, sets and corpora are those of `helix-lab eval --path direct`; `corpus` asks.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from helix_cli.model_build.default_model import ensure_default_model
from helix_lab.evaluate import DIRECT, Evaluation
from helix_lab.sets.cached.corpus import TOP_K
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.load import load_judged
from helix_shared.settings import helix_home


def in_process(own_profiles: Path | None) -> Evaluation:
    """The settings of the direct path; makes the model if it is not there yet."""
    models = helix_home() / "models"
    ensure_default_model(models)
    return Evaluation(helix_home() / "lab", models, DIRECT, TOP_K, own_profiles)


def load_answerable(
    data: Path, sets: str, corpus_from: Path | None, limit: int | None
) -> list[EvaluationSet]:
    """The sets with their answerable questions alone.

    Raises: as `load_judged`.
    """
    loaded = load_judged(data, sets, corpus_from=corpus_from, limit=limit)
    return [replace(one, questions=one.answerable) for one in loaded]
