from pathlib import Path

import numpy as np

from helix_query.profile.adapter import adapter_for
from helix_query.profile.files import load_profiles
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model

QUESTIONS = (
    "when does the swimming course start?",
    "where did we put the spare keys",
    "what does Ines charge?",
)


def test_the_adapter_of_the_package_is_that_of_the_default_model(models_dir: Path) -> None:
    """A model that is built differently would be served without it, and nobody would notice."""
    folder = default_model(models_dir)
    adapter = adapter_for(read_card(folder).checksum)
    assert adapter is not None
    assert load_profiles()["helix"].embed.adapted
    with Encoder.load(folder) as encoder:
        for question in QUESTIONS:
            tokens = encoder.embed_query_tokens(question)
            adapted = adapter.tokens(tokens)
            # it moves a question, and leaves it the same question
            assert 0.5 < float(adapted.vector @ tokens.vector) < 0.999
            assert np.isfinite(adapted.states).all()


def test_another_model_has_none() -> None:
    """Matrices of one space mean nothing in another."""
    assert adapter_for("0" * 64) is None
