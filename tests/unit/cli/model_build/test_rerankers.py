"""Importing a cross-encoder: what is checked, what is stored, and what an error names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.model_build.importing import Origin
from helix_cli.model_build.rerankers.importing import import_reranker, kind_of
from helix_shared.encoders.model import load_reranker_card
from helix_shared.encoders.store import model_folders, reranker_folder, reranker_folders
from helix_shared.errors import InvalidInputError, NotFoundError, PermanentError

Write = Callable[..., Path]
TWO_LABELS = '{"max_position_embeddings": 512, "id2label": {"0": "no", "1": "yes"}}'


@pytest.fixture
def given(tmp_path: Path, reranker_folder: Write) -> Path:
    """A folder to import."""
    return reranker_folder(tmp_path / "given")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the models, which does not exist yet."""
    return tmp_path / "models"


def brought(given: Path, root: Path, **options: object) -> Path:
    """Import as the reranker `tiny`."""
    return import_reranker(given, root, Origin("tiny", "a test", **options), existing="refuse")  # type: ignore[arg-type]


def test_a_float32_graph_is_quantised_and_compared(given: Path, root: Path) -> None:
    """The card has the comparison; the folder is no encoder, so no service takes it for one."""
    card = load_reranker_card(brought(given, root))
    assert (card.name, card.precision, card.max_tokens) == ("tiny", "int8", 512)
    assert "correlation 1.0000 of the logits against fp32" in card.source
    assert set(card.files) == {"model.onnx", "tokenizer.json", "config.json"}
    assert (model_folders(root), reranker_folders(root)) == ([], [root / "tiny"])
    assert reranker_folder(root, "tiny") == root / "tiny"
    with pytest.raises(NotFoundError, match=r"no reranker 'other' .*present: tiny.*helix models import"):
        reranker_folder(root, "other")


def test_a_graph_that_int8_changes_too_much_is_refused(
    tmp_path: Path, root: Path, reranker_folder: Write
) -> None:
    """One huge weight takes the whole range of the table; the error proposes --fp32."""
    spoilt = reranker_folder(tmp_path / "spoilt", {"zebra": 5_000.0})
    with pytest.raises(PermanentError, match=r"int8 model of tiny differs too much: .*--fp32"):
        brought(spoilt, root)
    assert load_reranker_card(brought(spoilt, root, keep_fp32=True)).precision == "fp32"


@pytest.mark.parametrize(
    ("file", "content", "field", "words"),
    [
        ("tokenizer.json", None, "tokenizer.json", "must be in"),
        ("tokenizer.json", "{}", "tokenizer.json", "must join a query and a passage"),
        ("model.onnx", None, "folder", "model.onnx"),
        ("model.onnx", "not a graph", "model.onnx", "must be an ONNX graph"),
        ("config.json", "{", "config.json", "must be JSON"),
        ("config.json", "{}", "tokenizer_config.json", "model_max_length"),
        ("config.json", TWO_LABELS, "config.json", "must have one label.* has 2"),
    ],
)
def test_the_error_names_the_file_and_what_is_expected(
    given: Path, root: Path, file: str, content: str | None, field: str, words: str
) -> None:
    """And no folder remains."""
    (given / file).unlink()
    if content is not None:
        (given / file).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=words) as caught:
        brought(given, root)
    assert caught.value.field == field
    assert not list(root.glob("[!.]*"))


def test_a_graph_with_other_inputs_or_outputs_is_refused(
    given: Path, root: Path, tmp_path: Path, reranker_folder: Write
) -> None:
    """Two numbers for a pair, an input that no text has, and the same logit for every pair."""
    with pytest.raises(InvalidInputError, match=r"model\.onnx: must take input_ids.*one finite.*\[1, 2\]"):
        brought(reranker_folder(tmp_path / "two", width=2), root)
    model = onnx.load(given / "model.onnx")
    model.graph.input[1].name = "pixel_values"
    onnx.save(model, given / "model.onnx")
    with pytest.raises(InvalidInputError, match="pixel_values"):
        brought(given, root)
    with pytest.raises(PermanentError, match="all pairs the same logit"):
        brought(reranker_folder(tmp_path / "flat", spread=0.0), root)


def test_the_kind_is_that_of_the_files(given: Path, tmp_path: Path) -> None:
    """By the class in config.json; without one by the outputs of the graph."""
    assert kind_of(given) == "reranker"
    (given / "config.json").write_text('{"architectures": ["BertModel"]}', encoding="utf-8")
    assert kind_of(given) == "encoder"
    (given / "config.json").unlink()
    assert kind_of(given) == "reranker"
    model = onnx.load(given / "model.onnx")
    model.graph.output[0].type.tensor_type.shape.dim.add()
    onnx.save(model, given / "model.onnx")
    assert kind_of(given) == "encoder"
    with pytest.raises(InvalidInputError, match="must be a folder"):
        kind_of(tmp_path / "nowhere")


def test_the_command_imports_and_lists_it(given: Path, tmp_path: Path) -> None:
    """It finds the kind, says which setting uses the model, and refuses what makes no sense."""

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(
            app, ["models", *arguments, "--home", str(tmp_path)], env={"COLUMNS": "200"}
        )
        return done.output + (done.stderr if done.exit_code else "")

    assert "prefix: must not be given for a reranker" in run("import", str(given), "--query-prefix", "q: ")
    assert '[rerank.cross_encoder] model = "given"' in run("import", str(given))
    [row] = json.loads(run("list", "--json"))
    assert (row["name"], row["kind"], row["default"], row["state"]) == ("given", "reranker", False, "ok")
    assert "reranker" in run("list")
    (tmp_path / "models" / "given" / "model.onnx").write_bytes(b"changed")
    [row] = json.loads(run("list", "--json"))
    assert row["state"].startswith("corrupt: model file was changed")


def test_a_reranker_does_not_replace_an_encoder(given: Path, root: Path) -> None:
    """A service may need it; the name says nothing of the kind."""
    (root / "tiny").mkdir(parents=True)
    (root / "tiny" / "model.json").touch()
    with pytest.raises(InvalidInputError, match="'tiny' is an encoder: give another --name"):
        import_reranker(given, root, Origin("tiny", "a test"), existing="replace")
    assert (root / "tiny" / "model.json").exists()
