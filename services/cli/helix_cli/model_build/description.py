"""The description of a model in a sentence-transformers folder: pooling, length limit and prompts.

Reads modules.json, 1_Pooling/config.json, sentence_bert_config.json, tokenizer_config.json, config.json and
config_sentence_transformers.json, and writes the same files for a model that lacks some of them.
`importing` puts the description on the card of the model.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

MODULES = "modules.json"
POOLING = "1_Pooling/config.json"
LENGTH = "sentence_bert_config.json"
PROMPTS = "config_sentence_transformers.json"
CONFIG = "config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
# Files that determine a vector besides the graph and the tokenizer; a model folder has a copy of each.
DESCRIPTION_FILES = (CONFIG, MODULES, POOLING, LENGTH, PROMPTS)

MATRYOSHKA = "matryoshka_dimensions"
"""Key of config.json in some published models; Helix writes it into `PROMPTS`."""
SUPPORTED_MODULES = {"Transformer", "Pooling", "Normalize"}
PASSAGE_PROMPTS = ("passage", "document", "corpus")
# Tokenizers without a limit state 1e30; no encoder reads texts of this length.
LONGEST_TOKENS = 65_536
# A text has a token before it and one behind it.
FEWEST_TOKENS = 3


@dataclass(frozen=True, slots=True)
class Description:
    """How to use the graph of a model."""

    pooling: Literal["mean", "cls"]
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    matryoshka_dimensions: tuple[int, ...] = ()


def describe(folder: Path, *, published: Description | None = None) -> Description:
    """Read the description of the model in `folder`; `published` fills in what the files do not state.

    Raises:
        InvalidInputError: a file describes something that the encoder does not compute, or pooling or
            length is stated nowhere.
    """
    _require_supported_modules(folder)
    pooling, limit = _pooling(folder), stated_max_tokens(folder)
    query, passage = _prefixes(folder)
    if published is not None:
        pooling, limit = pooling or published.pooling, limit or published.max_tokens
        query, passage = query or published.query_prefix, passage or published.passage_prefix
    if pooling is None or limit is None:
        raise InvalidInputError(
            LENGTH if pooling else POOLING, f"must be in {folder}: it says how the model is used"
        )
    return Description(
        pooling=pooling,
        max_tokens=limit,
        query_prefix=query,
        passage_prefix=passage,
        matryoshka_dimensions=_matryoshka(folder),
    )


def write_description(folder: Path, description: Description) -> None:
    """Write `description` as the files that `describe` reads."""
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(kinds)
    ]
    pooling = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False}
    pooling["pooling_mode_cls_token" if description.pooling == "cls" else "pooling_mode_mean_tokens"] = True
    prompts = {"query": description.query_prefix, "passage": description.passage_prefix}
    # absent where there are none, so that the checksums of such models stay
    prefixes = {MATRYOSHKA: description.matryoshka_dimensions} if description.matryoshka_dimensions else {}
    for path, values in (
        (MODULES, modules),
        (POOLING, pooling),
        (LENGTH, {"max_seq_length": description.max_tokens}),
        (PROMPTS, {"prompts": prompts} | prefixes),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path, *, default: Any) -> Any:
    """The contents of a JSON file, `default` if there is none.

    Raises:
        InvalidInputError: it is not JSON, or of another type than `default`; than an object, if that is None.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(path.name, f"must be JSON: {error}") from error
    if not isinstance(found, list if isinstance(default, list) else dict):
        raise InvalidInputError(path.name, f"must not be a JSON {type(found).__name__}")
    return found


def _require_supported_modules(folder: Path) -> None:
    for module in read_json(folder / MODULES, default=[]):
        kind = str(module.get("type", "") if isinstance(module, dict) else module).rpartition(".")[2]
        if kind not in SUPPORTED_MODULES:
            raise InvalidInputError(MODULES, f"may name {sorted(SUPPORTED_MODULES)} only, names {kind!r}")


def _pooling(folder: Path) -> Literal["mean", "cls"] | None:
    config: dict[str, Any] | None = read_json(folder / POOLING, default=None)
    if config is None:
        return None
    if config.get("include_prompt") is False and any(_prefixes(folder)):
        raise InvalidInputError(
            POOLING, "include_prompt must be true: leaving the prompt out is not supported"
        )
    named = config.get("pooling_mode")
    modes = {named} if named else {key for key, on in config.items() if key.startswith("pooling_mode") and on}
    if modes in ({"pooling_mode_mean_tokens"}, {"mean"}):
        return "mean"
    if modes in ({"pooling_mode_cls_token"}, {"cls"}):
        return "cls"
    raise InvalidInputError(POOLING, f"must say mean or cls pooling, says {sorted(map(str, modes))}")


def _prefixes(folder: Path) -> tuple[str, str]:
    """The prompts for a query and for a passage; empty where none is stated."""
    prompts = read_json(folder / PROMPTS, default={}).get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(one, str | None) for one in prompts.values()):
        raise InvalidInputError(PROMPTS, "prompts must be texts by their name")
    passage = next((prompts[key] for key in PASSAGE_PROMPTS if prompts.get(key)), "")
    return prompts.get("query") or "", passage


def _matryoshka(folder: Path) -> tuple[int, ...]:
    """The stated lengths of trained prefixes, ascending."""
    for file in (PROMPTS, CONFIG):
        if stated := read_json(folder / file, default={}).get(MATRYOSHKA):
            if not isinstance(stated, list) or any(type(one) is not int or one < 1 for one in stated):
                raise InvalidInputError(file, f"{MATRYOSHKA} must be whole numbers above 0, is {stated!r}")
            return tuple(sorted(set(stated)))
    return ()


def stated_max_tokens(folder: Path) -> int | None:
    """The stated limit in tokens, at most the number of position embeddings; None: no file states one."""
    stated = read_json(folder / LENGTH, default={}).get("max_seq_length")
    tokenizer = read_json(folder / TOKENIZER_CONFIG, default={}).get("model_max_length")
    positions = read_json(folder / CONFIG, default={}).get("max_position_embeddings")
    given = [limit for limit in (stated or tokenizer, positions) if limit]
    if not all(isinstance(limit, int | float) and limit >= FEWEST_TOKENS for limit in given):
        reason = f"must state numbers of {FEWEST_TOKENS} or more, as {CONFIG} and {TOKENIZER_CONFIG}: {given}"
        raise InvalidInputError(LENGTH, reason)
    limits = [int(limit) for limit in given if limit <= LONGEST_TOKENS]
    return min(limits, default=None)
