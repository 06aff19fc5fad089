import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from helix_query.profile.adapter import adapter_for
from helix_query.profile.files import load_profiles
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import PROJECTION_FILE, file_sha256, read_card, write_card
from helix_shared.encoders.store import default_model
from helix_shared.encoders.token_codes import CODE_BITS, TokenProjection

QUESTIONS = (
    "when does the swimming course start?",
    "where did we put the spare keys",
    "what does Ines charge?",
)


def test_the_adapter_of_the_package_is_that_of_the_default_model(models_dir: Path) -> None:
    """A model that is built differently would be served without it, and nobody would notice."""
    assert load_profiles()["helix"].embed.adapted
    with Encoder.load(default_model(models_dir)) as encoder:
        adapter = adapter_for(encoder)
        assert adapter is not None
        for question in QUESTIONS:
            tokens = encoder.embed_query_tokens(question)
            adapted = adapter.tokens(tokens)
            # it moves a question, and leaves it the same question
            assert 0.5 < float(adapted.vector @ tokens.vector) < 0.999
            assert np.isfinite(adapted.states).all()


def copied(models_dir: Path, folder: Path, name: str, change: Callable[[Path], object]) -> Path:
    """A copy of the default model in which `change` wrote the file `name`, with a card that says so."""
    shutil.copytree(default_model(models_dir), folder)
    change(folder / name)
    card = read_card(folder)
    files = card.files | {name: file_sha256(folder / name)}
    write_card(folder, card.model_copy(update={"files": files}))
    return folder


def test_a_build_with_another_projection_has_it_in_its_own_numbers(models_dir: Path, tmp_path: Path) -> None:
    """As of another kind of processor; here turned by a rotation, which is more than a processor does."""
    drawn = np.random.default_rng(6).normal(size=(CODE_BITS, CODE_BITS))
    rotation = np.linalg.qr(drawn)[0].astype(np.float32)

    def turn(path: Path) -> None:
        built = TokenProjection.load(path)
        replace(built, matrix=built.matrix @ rotation).save(path)

    folder = copied(models_dir, tmp_path / "turned", PROJECTION_FILE, turn)
    with Encoder.load(default_model(models_dir)) as encoder, Encoder.load(folder) as turned:
        assert turned.card.checksum != encoder.card.checksum
        here, there = adapter_for(encoder), adapter_for(turned)
        assert here is not None
        assert there is not None
        for question in QUESTIONS:
            states = here.tokens(encoder.embed_query_tokens(question)).states
            others = there.tokens(turned.embed_query_tokens(question)).states
            assert np.allclose(states @ rotation, others, atol=1e-3)


def test_another_model_has_none(models_dir: Path, tmp_path: Path) -> None:
    """Matrices of one space mean nothing in another."""
    folder = copied(
        models_dir, tmp_path / "other", "notes.txt", lambda path: path.write_text("another model")
    )
    with Encoder.load(folder) as encoder:
        assert adapter_for(encoder) is None
