"""Asymmetric pairs: passages by one encoder, questions and codes by another one in the same space."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.model_build.description import Description
from helix_cli.model_build.importing import Origin, import_folder
from helix_cli.model_build.late_interaction.importing import import_late_interaction
from helix_cli.model_build.pairs.pairing import pair
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import load_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import CorruptArtifactError, InvalidInputError, PermanentError

Write = Callable[..., Path]
MEAN = Description(pooling="mean", max_tokens=48)
TEXT = "The ferry to Naxos leaves at nine, not at ten."


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Write) -> Path:
    """Two builds of one network: `large` in float32, and `small` in int8 as its student."""
    folder = tmp_path_factory.mktemp("built")
    given, root = encoder_folder(folder / "given", MEAN), folder / "models"
    import_folder(given, root, Origin("large", "", keep_fp32=True), existing="refuse")
    import_folder(given, root, Origin("small", "", query_prefix="ask: "), existing="refuse")
    return root


@pytest.fixture
def root(tmp_path: Path, built: Path) -> Path:
    """A copy of both, to which each test adds its own."""
    return Path(shutil.copytree(built, tmp_path / "models"))


def test_passages_are_of_one_and_questions_and_codes_of_the_other(root: Path) -> None:
    """To the bit; the query service opens the small one alone."""
    folder = pair(root / "large", root / "small", root, "both", existing="refuse")
    card = load_card(folder)
    assert card.has_query_encoder
    assert card.makes_codes
    assert card.encoder_checksum not in {
        load_card(root / name).encoder_checksum for name in ("large", "small")
    }
    with (
        Encoder.load(folder) as both,
        Encoder.load(root / "large") as large,
        Encoder.load(root / "small") as small,
        Encoder.load(folder, embeds_passages=False) as asking,
    ):
        vector, codes = both.embed_with_codes(TEXT)
        assert np.array_equal(vector, large.embed(TEXT))
        assert not np.array_equal(vector, small.embed(TEXT))
        assert np.array_equal(codes, small.embed_with_codes(TEXT)[1])
        assert both.coded_words(TEXT, len(codes)) == small.coded_words(TEXT, len(codes))
        for encoder in (both, asking):
            assert np.array_equal(encoder.embed_query(TEXT), small.embed_query(TEXT))
            tokens, own = encoder.embed_query_tokens(TEXT), small.embed_query_tokens(TEXT)
            assert np.array_equal(tokens.vector, own.vector)
            assert np.array_equal(tokens.states, own.states)
            assert encoder.count_tokens(TEXT) == large.count_tokens(TEXT)
        with pytest.raises(CorruptArtifactError, match="opened for queries alone: both"):
            asking.embed(TEXT)


def test_encoders_of_two_spaces_are_refused(
    root: Path, tmp_path: Path, models_dir: Path, encoder_folder: Write
) -> None:
    """The vectors have one length and mean nothing to each other; no folder remains."""
    given = encoder_folder(tmp_path / "wide", replace(MEAN), hidden=384)
    wide = import_folder(given, root, Origin("wide", "", keep_fp32=True), existing="refuse")
    with pytest.raises(PermanentError, match=r"not in one space: .* sample texts are nearest to themselves"):
        pair(default_model(models_dir), wide, root, "both", existing="refuse")
    assert not (root / "both").exists()


def test_what_cannot_be_paired_is_named(
    root: Path, tmp_path: Path, models_dir: Path, late_interaction_folder: Write
) -> None:
    """Vectors of other lengths, and models that hold a second one already."""
    with pytest.raises(InvalidInputError, match=r"queries: must give vectors of 384 numbers .* gives 64"):
        pair(default_model(models_dir), root / "small", root, "both", existing="refuse")
    both = pair(root / "large", root / "small", root, "both", existing="refuse")
    with pytest.raises(InvalidInputError, match=r"passages: must be a plain encoder, both holds a second"):
        pair(both, root / "small", root, "again", existing="refuse")
    given = late_interaction_folder(tmp_path / "late")
    with pytest.raises(InvalidInputError, match="beside: must be one encoder, both is an asymmetric pair"):
        import_late_interaction(given, root, Origin("late", ""), beside=both, existing="refuse")


def test_the_command_makes_a_pair_and_lists_it(root: Path, tmp_path: Path) -> None:
    """A changed file of the second model is found, too."""

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(
            app, ["models", *arguments, "--home", str(tmp_path)], env={"COLUMNS": "200"}
        )
        return done.output + (done.stderr if done.exit_code else "")

    assert "no model 'none'" in run("pair", "both", "--passages", "large", "--queries", "none")
    assert "queries: small@" in run("pair", "both", "--passages", "large", "--queries", "small")
    kinds = {row["name"]: (row["kind"], row["state"]) for row in json.loads(run("list", "--json"))}
    assert kinds == {"both": ("pair", "ok"), "large": ("encoder", "ok"), "small": ("encoder", "ok")}
    (root / "both" / "query_encoder" / "model.onnx").write_bytes(b"changed")
    states = {row["name"]: row["state"] for row in json.loads(run("list", "--json"))}
    assert states["both"].startswith("corrupt: model file was changed")
