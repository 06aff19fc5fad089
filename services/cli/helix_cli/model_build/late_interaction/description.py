"""Reads how a late-interaction model is used: its markers, its longest passage and its projection.

Three kinds of folders say it: those of pylate-onnx-export (`onnx_config.json`), of PyLate
(`config_sentence_transformers.json`) and of the original ColBERT (`artifact.metadata`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tokenizers import Tokenizer

from helix_cli.model_build.description import MODULES, PROMPTS, read_json, stated_max_tokens
from helix_shared.encoders.model import TOKENIZER_FILE
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

EXPORTED: Final = "onnx_config.json"
ORIGINAL: Final = "artifact.metadata"
_OF_ORIGINAL: Final = {
    "query_prefix": "query_token_id",
    "document_prefix": "doc_token_id",
    "document_length": "doc_maxlen",
    "attend_to_expansion_tokens": "attend_to_mask_tokens",
}
"""PyLate's name of what the original states under another one."""
_QUERY, _PASSAGE, _LENGTH, _ATTENDS = _OF_ORIGINAL
FEWEST_TOKENS: Final = 8


@dataclass(frozen=True, slots=True)
class Description:
    """How to use the graph of a late-interaction model."""

    max_tokens: int
    """Longest text in tokens, with special tokens and marker."""
    query_marker: int
    """Id of the token after the start of a query."""
    passage_marker: int
    dense: str = ""
    """Folder of the projection; empty: the graph has it, or there is none."""


def is_late_interaction(folder: Path) -> bool:
    """Whether the files of `folder` describe a late-interaction model."""
    return bool(_stated(folder)[1].get(_PASSAGE))


def describe(folder: Path) -> Description:
    """Read the description of the model in `folder`.

    Raises:
        InvalidInputError: no file states the markers or the longest passage, or the model needs what Helix
            does not do; names the file.
    """
    file, stated = _stated(folder)
    if not stated.get(_PASSAGE):
        expected = f"must be in {folder}, or {PROMPTS} or {ORIGINAL}, and state {_QUERY} and {_PASSAGE}"
        raise InvalidInputError(EXPORTED, expected)
    if stated.get(_ATTENDS):
        name = _OF_ORIGINAL[_ATTENDS] if file == ORIGINAL else _ATTENDS
        raise InvalidInputError(file, f"{name} must be false: Helix adds no mask tokens to a query")
    if not (folder / TOKENIZER_FILE).is_file():
        raise InvalidInputError(TOKENIZER_FILE, f"must be in {folder}")
    tokenizer = _tokenizer(folder / TOKENIZER_FILE)
    query, passage = (_marker(file, stated, one, tokenizer) for one in (_QUERY, _PASSAGE))
    if query == passage:
        raise InvalidInputError(file, f"{_QUERY} and {_PASSAGE} must be two tokens, both are token {query}")
    return Description(_max_tokens(folder, file, stated), query, passage, _dense(folder))


def _stated(folder: Path) -> tuple[str, dict[str, Any]]:
    """The first file that states a passage marker, and what it says in PyLate's names."""
    for file in (EXPORTED, PROMPTS, ORIGINAL):
        found = read_json(folder / file, default={})
        if file == ORIGINAL:
            found = {ours: found.get(theirs) for ours, theirs in _OF_ORIGINAL.items()}
        if isinstance(found, dict) and found.get(_PASSAGE):
            return file, found
    return EXPORTED, {}


def _tokenizer(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the tokenizers package raises bare Exception
        raise InvalidInputError(TOKENIZER_FILE, f"must be a tokenizer: {error}") from error


def _marker(file: str, stated: dict[str, Any], name: str, tokenizer: Tokenizer) -> int:
    """The id of a marker: the stated id, else that of the token of this name."""
    given, text = stated.get(f"{name}_id"), str(stated.get(name) or "")
    if given is not None:
        if not isinstance(given, int) or tokenizer.id_to_token(given) is None:
            raise InvalidInputError(file, f"{name}_id must be a token of {TOKENIZER_FILE}, is {given!r}")
        return given
    found = (tokenizer.token_to_id(one) for one in (text, text.strip()))
    marker = next((one for one in found if one is not None), None)
    if marker is None:
        raise InvalidInputError(file, f"{name} must be a token of {TOKENIZER_FILE}, is {text!r}")
    return marker


def _max_tokens(folder: Path, file: str, stated: dict[str, Any]) -> int:
    limits = [int(one) for one in (stated.get(_LENGTH), stated_max_tokens(folder)) if one]
    if not limits or min(limits) < FEWEST_TOKENS:
        name = _OF_ORIGINAL[_LENGTH] if file == ORIGINAL else _LENGTH
        raise InvalidInputError(
            file, f"{name} must be at least {FEWEST_TOKENS} tokens, is {min(limits, default=None)}"
        )
    return min(limits)


def _dense(folder: Path) -> str:
    modules = read_json(folder / MODULES, default=[])
    dense = [one["path"] for one in modules if str(one.get("type", "")).rpartition(".")[2] == "Dense"]
    if len(dense) > 1:
        raise InvalidInputError(
            MODULES, f"may name one Dense module, names {len(dense)}: export the graph with its projections"
        )
    return dense[0] if dense else ""
