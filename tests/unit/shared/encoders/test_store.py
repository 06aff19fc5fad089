from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from helix_shared.encoders.model import ModelCard, load_card, read_card, write_card
from helix_shared.encoders.store import default_model, list_models, model_folder
from helix_shared.errors import CorruptArtifactError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"model.onnx": b"graph", "tokenizer.json": b"{}"}


def _card(**changes: object) -> ModelCard:
    hashes = {path: hashlib.sha256(data).hexdigest() for path, data in FILES.items()}
    values: dict[str, object] = {
        "name": "small",
        "dimensions": 3,
        "max_tokens": 8,
        "pooling": "mean",
        "precision": "int8",
        "files": hashes,
        "source": "a test",
    }
    return ModelCard.model_validate(values | changes)


def _put(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    for path, data in FILES.items():
        (folder / path).write_bytes(data)
    write_card(folder, _card(name=name))
    return folder


def test_the_checksum_is_that_of_sha256sum_over_the_sorted_listing() -> None:
    """sha256sum model.onnx tokenizer.json | sort | sha256sum gives the same, worked out in a shell."""
    assert _card().checksum == "95bd89df598e708fe767335ff0d6e7a129a8922e9bf5c1eb19452d70248f2321"


def test_the_checksum_changes_with_a_file_and_not_with_the_wording() -> None:
    """A generation is tied to the files, not to a remark about them."""
    other = {"model.onnx": "0" * 64, "tokenizer.json": "1" * 64}
    assert _card().checksum == _card(source="other words").checksum
    assert _card().checksum != _card(files=other).checksum


def test_a_card_survives_the_disk(tmp_path: Path) -> None:
    """The card is read as it was written, files checked."""
    assert _card() == load_card(_put(tmp_path, "small"))


@pytest.mark.parametrize("path", ["../model.onnx", "/etc/passwd", "a/../../b", "a\\b", "./model.onnx"])
def test_a_card_names_no_file_outside_its_folder(path: str) -> None:
    """A card is input too."""
    with pytest.raises(ValidationError):
        _card(files=_card().files | {path: "0" * 64})


@pytest.mark.parametrize(
    "changes", [{"files": {}}, {"pooling": "max"}, {"dimensions": 0}, {"extra": 1}, {"name": "../a"}]
)
def test_a_card_that_could_not_be_run_is_refused(changes: dict[str, object]) -> None:
    """The card names graph, tokenizer and pooling, and has no unknown fields."""
    with pytest.raises(ValidationError):
        _card(**changes)


def test_a_card_of_garbage_is_corrupt(tmp_path: Path) -> None:
    """Half a card is damage, not a crash."""
    folder = _put(tmp_path, "small")
    (folder / "model.json").write_text('{"name": "sm', encoding="utf-8")
    with pytest.raises(CorruptArtifactError):
        read_card(folder)


def test_models_are_listed_by_name_without_unfinished_ones(tmp_path: Path) -> None:
    """Folders that start with a dot are unfinished builds."""
    for name in ("b", "a", "c"):
        _put(tmp_path, name)
    (tmp_path / "c").rename(tmp_path / ".unfinished-c")
    assert [card.name for card in list_models(tmp_path)] == ["a", "b"]
    assert list_models(tmp_path / "nowhere") == []


def test_the_default_is_bge_small_else_minilm_else_an_instruction(tmp_path: Path) -> None:
    """Another model is never taken for the default."""
    _put(tmp_path, "zzz")
    with pytest.raises(NotFoundError, match="helix models build"):
        default_model(tmp_path)
    minilm = _put(tmp_path, "all-MiniLM-L6-v2")
    assert minilm == default_model(tmp_path)
    bge = _put(tmp_path, "bge-small-en-v1.5")
    assert bge == default_model(tmp_path)


def test_a_model_is_found_by_its_name_only(tmp_path: Path) -> None:
    """A name is not a path; the error for an unknown one lists the models."""
    assert _put(tmp_path, "small") == model_folder(tmp_path, "small")
    with pytest.raises(NotFoundError, match="present: small"):
        model_folder(tmp_path, "large")
    for name in ("../small", ".", "", "a/b", "x" * 65):
        with pytest.raises(InvalidInputError):
            model_folder(tmp_path, name)
