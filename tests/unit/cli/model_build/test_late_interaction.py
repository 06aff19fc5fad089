"""Importing a late-interaction model: what is checked, what is stored, and what an error names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.model_build.importing import Origin
from helix_cli.model_build.late_interaction.graph import with_projection
from helix_cli.model_build.late_interaction.importing import import_late_interaction
from helix_cli.model_build.rerankers.importing import kind_of
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.late_interaction import LateInteractionModel
from helix_shared.encoders.model import LATE_INTERACTION_FOLDER, load_card
from helix_shared.encoders.store import default_model, model_folders
from helix_shared.errors import CorruptArtifactError, InvalidInputError, PermanentError

Write = Callable[..., Path]
TEXT = "The ferry to the island leaves at seven."
STATED = "config_sentence_transformers.json"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, late_interaction_folder: Write) -> Path:
    """The folder that each test imports a copy of."""
    return late_interaction_folder(tmp_path_factory.mktemp("written") / "given")


@pytest.fixture
def given(tmp_path: Path, written: Path) -> Path:
    """A folder to import."""
    return Path(shutil.copytree(written, tmp_path / "given"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the models, which does not exist yet."""
    return tmp_path / "models"


@pytest.fixture
def minilm(models_dir: Path) -> Path:
    """The encoder that makes the vectors."""
    return default_model(models_dir)


def brought(given: Path, root: Path, beside: Path, **options: object) -> Path:
    """Import as the model `late`."""
    origin = Origin("late", "a test", **options)  # type: ignore[arg-type]
    return import_late_interaction(given, root, origin, beside=beside, existing="refuse")


def numbers(folder: Path, text: str, *, marker: str) -> np.ndarray:
    """What the written folder gives for the words of a text, computed from its files without its graph."""
    model = onnx.load(folder / "model.onnx")
    table = next(numpy_helper.to_array(one) for one in model.graph.initializer if one.name == "table")
    tokenizer = tokenizer_of(folder)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    states = table[ids] + table[tokenizer.token_to_id(marker)] / 4
    projected: np.ndarray = states @ load_file(folder / "1_Dense" / "model.safetensors")["linear.weight"].T
    return projected


def tokenizer_of(folder: Path) -> Tokenizer:
    """The tokenizer of a folder, without the padding of its file."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    return tokenizer


def test_vectors_stay_and_codes_are_of_the_model(given: Path, root: Path, minilm: Path) -> None:
    """One model: its checksum covers both, and what was fitted to the vectors still holds."""
    folder = brought(given, root, minilm)
    card, base = load_card(folder), load_card(minilm)
    assert card.has_late_interaction
    assert not base.has_late_interaction
    assert card.checksum != base.checksum
    assert card.encoder_checksum == base.encoder_checksum
    assert "mean cosine 0.99" in card.source
    assert model_folders(root) == [folder]
    with Encoder.load(folder) as late, Encoder.load(minilm) as plain:
        (vector, codes), (own_vector, own_codes) = (one.embed_with_codes(TEXT) for one in (late, plain))
        assert np.array_equal(vector, own_vector)
        assert codes.shape == own_codes.shape
        assert not np.array_equal(codes, own_codes)
        assert np.array_equal(late.embed_query(TEXT), plain.embed_query(TEXT))


def test_states_have_marker_and_projection(given: Path, root: Path, minilm: Path) -> None:
    """A query and a passage with the same words differ by the marker, and both by what the files say."""
    folder = brought(given, root, minilm, keep_fp32=True)
    model = LateInteractionModel.load(folder / LATE_INTERACTION_FOLDER)
    words = "the ferry leaves"
    for run, marker in ((model.query, "[unused0]"), (model.passage, "[unused1]")):
        found = run(words)
        assert found.ids[1] == tokenizer_of(given).token_to_id(marker)
        expected = numbers(given, words, marker=marker)
        assert np.allclose(found.states[2:-1], expected, atol=1e-4)
        assert found.words.tolist() == [[-1, -1], [-1, -1], [0, 3], [4, 9], [10, 16], [-1, -1]]
    assert not np.allclose(model.query(words).states, model.passage(words).states, atol=0.1)


def test_a_graph_with_its_projection_is_used_as_it_is(given: Path, root: Path, minilm: Path) -> None:
    """As pylate-onnx-export and the exports for Vespa give it; a projection that fits neither is refused."""
    weights = load_file(given / "1_Dense" / "model.safetensors")["linear.weight"]
    unprojected = onnx.load(given / "model.onnx")
    onnx.save(with_projection(unprojected, "last_hidden_state", weights), given / "model.onnx")
    folder = brought(given, root, minilm, keep_fp32=True)
    model = LateInteractionModel.load(folder / LATE_INTERACTION_FOLDER)
    expected = numbers(given, "ferry", marker="[unused0]")
    assert np.allclose(model.query("ferry").states[2:-1], expected, atol=1e-4)
    save_file({"linear.weight": weights[:, :40].copy()}, given / "1_Dense" / "model.safetensors")
    onnx.save(unprojected, given / "model.onnx")
    with pytest.raises(InvalidInputError, match=r"model.onnx: must give states of 40 or, projected, 96.*80"):
        import_late_interaction(given, root, Origin("other", ""), beside=minilm, existing="refuse")


EXPORTED = {"query_prefix": "[Q] ", "document_prefix": "[D] ", "document_length": 40}
ORIGINAL = {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "doc_maxlen": 24}


@pytest.mark.parametrize(
    ("file", "stated", "limit"),
    [
        ("onnx_config.json", EXPORTED | {"query_prefix_id": 1, "document_prefix_id": 2}, 40),
        ("artifact.metadata", ORIGINAL | {"attend_to_mask_tokens": False}, 24),
    ],
)
def test_other_folders_say_it_in_other_files(
    given: Path, root: Path, minilm: Path, file: str, stated: dict[str, Any], limit: int
) -> None:
    """Markers by id, and under the names of the original ColBERT."""
    (given / STATED).unlink()
    assert kind_of(given) != "late-interaction"
    (given / file).write_text(json.dumps(stated), encoding="utf-8")
    assert kind_of(given) == "late-interaction"
    card = LateInteractionModel.load(brought(given, root, minilm) / LATE_INTERACTION_FOLDER).card
    assert (card.max_tokens, card.query_marker, card.passage_marker) == (limit, 1, 2)


@pytest.mark.parametrize(
    ("file", "content", "field", "words"),
    [
        (STATED, "{}", "onnx_config.json", "must be in .*query_prefix and document_prefix"),
        (STATED, EXPORTED, STATED, r"query_prefix must be a token of tokenizer.json, is '\[Q\] '"),
        (STATED, EXPORTED | {"query_prefix_id": 99_999}, STATED, "query_prefix_id must be a token .*99999"),
        (
            "onnx_config.json",
            EXPORTED | {"query_prefix_id": 1, "document_prefix_id": 1},
            "onnx_config.json",
            "two tokens, both are token 1",
        ),
        (STATED, ORIGINAL, "onnx_config.json", "must be in"),
        ("onnx_config.json", EXPORTED | {"attend_to_expansion_tokens": True}, "onnx_config.json", "false"),
        ("tokenizer.json", None, "tokenizer.json", "must be in"),
        ("tokenizer.json", "{}", "tokenizer.json", "must be a tokenizer"),
        ("model.onnx", "not a graph", "model.onnx", "must be an ONNX graph"),
        ("1_Dense/config.json", {"bias": True}, "1_Dense/config.json", "must have no bias"),
        (
            "1_Dense/model.safetensors",
            "{}",
            "1_Dense/model.safetensors",
            "must hold the matrix linear.weight",
        ),
        ("modules.json", [{"path": "a", "type": "Dense"}] * 2, "modules.json", "one Dense module, names 2"),
    ],
)
def test_the_error_names_the_file_and_what_is_expected(
    given: Path, root: Path, minilm: Path, file: str, content: Any, field: str, words: str
) -> None:
    """And no folder remains."""
    (given / file).unlink(missing_ok=True)
    if content is not None:
        text = content if isinstance(content, str) else json.dumps(content)
        (given / file).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=words) as caught:
        brought(given, root, minilm)
    assert caught.value.field == field
    assert not list(root.glob("[!.]*"))


def test_a_model_that_int8_changes_too_much_is_refused(
    tmp_path: Path, root: Path, minilm: Path, late_interaction_folder: Write
) -> None:
    """The error proposes --fp32."""
    spoilt = late_interaction_folder(tmp_path / "spoilt", outlier=20_000.0)
    with pytest.raises(PermanentError, match=r"int8 model of late differs too much: mean cosine.*--fp32"):
        brought(spoilt, root, minilm)
    assert load_card(brought(spoilt, root, minilm, keep_fp32=True)).has_late_interaction


def test_the_command_imports_beside_an_encoder(given: Path, tmp_path: Path, minilm: Path) -> None:
    """It finds the kind, says what uses the model, and takes the place of one that the encoder has."""

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(
            app, ["models", *arguments, "--home", str(tmp_path)], env={"COLUMNS": "200"}
        )
        return done.output + (done.stderr if done.exit_code else "")

    (tmp_path / "models").mkdir()
    (tmp_path / "models" / minilm.name).symlink_to(minilm)
    assert "prefix: must not be given for a late-interaction model" in run(
        "import", str(given), "--query-prefix", "q: "
    )
    assert "--beside: must be given with a late-interaction model only" in run(
        "import", str(given), "--kind", "reranker", "--beside", minilm.name
    )
    assert "used by the ranking profile `colbert` after `helix models use given`" in run("import", str(given))
    again = run("import", str(given), "--name", "again", "--beside", "given")
    assert "again" in again
    kinds = {row["name"]: (row["kind"], row["state"]) for row in json.loads(run("list", "--json"))}
    assert kinds[minilm.name] == ("encoder", "ok")
    assert kinds["given"] == kinds["again"] == ("late-interaction", "ok")
    first, second = (load_card(tmp_path / "models" / name) for name in ("given", "again"))
    assert first.encoder_files == second.encoder_files
    inner = tmp_path / "models" / "given" / LATE_INTERACTION_FOLDER / "model.onnx"
    inner.write_bytes(b"changed")
    with pytest.raises(CorruptArtifactError, match="was changed"):
        load_card(tmp_path / "models" / "given")
