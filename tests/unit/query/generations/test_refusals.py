"""Which generations are not served, how often that is told, and what a caller is told."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import REGISTRY

from helix_query.generations.refusals import NO_GENERATION, Refusals
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.errors import CorruptArtifactError, NotFoundError

NOT_INSTALLED = NotFoundError("its model is not installed")


def told() -> float:
    """How many refusals for want of a model were counted; each is also one line of the log."""
    return REGISTRY.get_sample_value("helix_generations_rejected_total", {"reason": "model"}) or 0.0


def with_folders(root: Path, *numbers: int) -> Refusals:
    """The refusals of a data folder with these generations."""
    for number in numbers:
        folder_of(root, number).mkdir(parents=True)
    return Refusals(root)


def test_each_of_several_generations_without_a_model_is_told_once(tmp_path: Path) -> None:
    """Every poll tries them all again, newest first: that filled the log and raised the alert for ever."""
    refusals, before = with_folders(tmp_path, 1, 2, 3), told()
    for _ in range(4):
        for number in (3, 2, 1):
            refusals.refuse(number, NOT_INSTALLED)
    assert told() - before == 3
    assert not refusals.is_refused(3)


def test_a_caller_is_told_about_the_newest_generation(tmp_path: Path) -> None:
    """The older ones are tried after it, and are not what is missing."""
    refusals = with_folders(tmp_path, 1, 2)
    assert refusals.reason() == NO_GENERATION
    refusals.refuse(2, CorruptArtifactError("signals.bin is truncated"))
    refusals.refuse(1, NOT_INSTALLED)
    assert refusals.reason().startswith("generation 2 is not served: CorruptArtifactError")
    assert refusals.is_refused(2)


def test_another_reason_of_the_same_generation_is_told(tmp_path: Path) -> None:
    """The model was installed, and something else is wrong."""
    refusals, before = with_folders(tmp_path, 1), told()
    refusals.refuse(1, NOT_INSTALLED)
    refusals.refuse(1, CorruptArtifactError("signals.bin is truncated"))
    refusals.refuse(1, NOT_INSTALLED)
    assert told() - before == 2
    assert refusals.reason() == "generation 1 is not served: its model is not installed"


def test_a_generation_that_was_removed_is_not_told_about_any_more(tmp_path: Path) -> None:
    """A writer removes old generations; nothing is kept about them."""
    refusals = with_folders(tmp_path, 1, 2)
    refusals.refuse(2, NOT_INSTALLED)
    folder_of(tmp_path, 2).rmdir()
    refusals.refuse(1, NOT_INSTALLED)
    assert refusals.reason() == "generation 1 is not served: its model is not installed"
