from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helix_query.profile.files import load_profiles
from helix_query.profile.fitted import left_out, serves
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_shared.encoders.model import ModelCard


@pytest.fixture
def minilm(models_dir: Path) -> ModelCard:
    """The card of the model that the shipped profile was fitted for."""
    return read_card(default_model(models_dir))


@pytest.fixture
def other(minilm: ModelCard) -> ModelCard:
    """The card of a model with another graph."""
    return minilm.model_copy(update={"files": minilm.files | {"model.onnx": "0" * 64}})


def test_the_shipped_profile_is_whole_with_the_model_it_was_fitted_for(minilm: ModelCard) -> None:
    """Also with another token projection, which differs between processors."""
    projection = minilm.model_copy(update={"files": minilm.files | {"token_projection.npz": "0" * 64}})
    for card in (minilm, projection):
        assert left_out(load_profiles()["helix"], card) == {}


def test_with_another_model_what_was_fitted_is_left_out_and_named(other: ModelCard) -> None:
    """Each part with the command of the lab that fits it anew; the published recipes fit nothing."""
    assert left_out(load_profiles()["helix"], other) == {
        "query adapter": "helix-lab adapter",
        "share of the channels by query": "helix-lab share",
        "relevance and abstention": "helix-lab calibrate",
    }
    assert not left_out(load_profiles()["cems"], other).keys() - {"query adapter"}


def test_constants_that_name_no_model_serve_any(minilm: ModelCard, other: ModelCard) -> None:
    """A profile of an operator who did not fit it."""
    assert serves("", other)
    assert serves(other.encoder_checksum, other)
    assert not serves(minilm.encoder_checksum, other)


def test_only_a_late_interaction_model_has_the_codes_of_its_profile(minilm: ModelCard) -> None:
    """With one, everything that was fitted to the vectors is used; without, the profile is refused."""
    inner = {"late_interaction/late_interaction.json": "0" * 64, "late_interaction/model.onnx": "1" * 64}
    late = minilm.model_copy(update={"files": minilm.files | inner})
    profiles = load_profiles()
    profiles["colbert"].rerank.require_codes("colbert", late)
    assert left_out(profiles["colbert"], late) == {}
    profiles["helix"].rerank.require_codes("helix", minilm)
    with pytest.raises(InvalidInputError, match=r"'colbert' compares token codes.*'all-MiniLM-L6-v2'"):
        profiles["colbert"].rerank.require_codes("colbert", minilm)
