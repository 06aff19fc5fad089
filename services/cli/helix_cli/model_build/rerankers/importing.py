"""Imports a folder with an ONNX cross-encoder as a checked model folder.

The graph has the inputs of a text encoder and gives one number for a pair of texts, as an exported model for
sequence classification with one label does. A float32 graph is quantised and compared with the original.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from threading import Semaphore
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from helix_cli.model_build.description import CONFIG, TOKENIZER_CONFIG, read_json, stated_max_tokens
from helix_cli.model_build.graph_file import Precision, find_graph, read_graph
from helix_cli.model_build.importing import file_checksums
from helix_cli.model_build.late_interaction.description import is_late_interaction
from helix_cli.model_build.publish import Existing, publish
from helix_cli.model_build.quantise import Making, write_graph
from helix_cli.model_build.rerankers.fidelity import Fidelity, compare, require_sound, sample_logits
from helix_shared.encoders.cross_encoder import CrossEncoder
from helix_shared.encoders.model import (
    RERANKER_FILE,
    TOKENIZER_FILE,
    RerankerCard,
    write_card,
)
from helix_shared.encoders.session import PairSession
from helix_shared.encoders.tokens import PairTokens
from helix_shared.errors import CorruptArtifactError, InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_cli.model_build.importing import Origin

Kind = Literal["encoder", "reranker", "late-interaction"]
CLASSIFIER: Final = "ForSequenceClassification"
"""How the class of a cross-encoder ends in config.json."""
TOKEN_RANK: Final = 3
"""Rank of the token vectors that an encoder gives and a cross-encoder does not."""


def kind_of(source: Path) -> Kind:
    """What `source` holds, by its markers, the class in its config.json, or the outputs of its graph.

    Raises:
        InvalidInputError: it has no readable graph.
    """
    if not source.is_dir():
        raise InvalidInputError("folder", f"must be a folder, is {source}")
    if is_late_interaction(source):
        return "late-interaction"
    if names := read_json(source / CONFIG, default={}).get("architectures"):
        return "reranker" if any(str(name).endswith(CLASSIFIER) for name in names) else "encoder"
    outputs = read_graph(find_graph(source)).graph.output
    ranks = [len(output.type.tensor_type.shape.dim) for output in outputs]
    return "encoder" if TOKEN_RANK in ranks else "reranker"


def import_reranker(source: Path, root: Path, origin: Origin, *, existing: Existing) -> Path:
    """Import the folder `source` as the reranker `origin.name` under `root` and return its folder.

    Raises:
        InvalidInputError: Helix cannot run the model; the message names the file.
        PermanentError: the int8 model differs too much, or the model is not sound.
    """
    if not source.is_dir():
        raise InvalidInputError("folder", f"must be a folder, is {source}")
    if origin.query_prefix is not None or origin.passage_prefix is not None:
        raise InvalidInputError("prefix", "must not be given for a reranker: it reads both texts as they are")
    return publish(root, origin.name, lambda stage: _assemble(source, stage, origin), existing=existing)


def _assemble(source: Path, stage: Path, origin: Origin) -> None:
    """Write the checked model from `source` into the empty folder `stage`, its card last."""
    max_tokens = _max_tokens(source)
    _require_one_label(source)
    graph = find_graph(source)
    model = read_graph(graph)
    _require_runs(source, graph, max_tokens)

    def compared(reference: NDArray[np.float64], candidate: NDArray[np.float64]) -> Fidelity:
        require_sound(origin.name, reference, reference)
        return compare(reference, candidate)

    making = Making(
        lay_out=partial(_lay_out, source),
        seal=partial(_seal, origin, max_tokens),
        results=_logits,
        compare=compared,
    )
    making.lay_out(stage)
    precision, note = write_graph(model, stage, making, name=origin.name, keep_fp32=origin.keep_fp32)
    making.seal(stage, precision, note)
    require_sound(origin.name, _logits(stage), _logits(stage))


def _max_tokens(source: Path) -> int:
    found = stated_max_tokens(source)
    if found is None:
        raise InvalidInputError(
            TOKENIZER_CONFIG,
            f"must state model_max_length, or {CONFIG} max_position_embeddings: neither is in {source}",
        )
    return found


def _require_one_label(source: Path) -> None:
    config = read_json(source / CONFIG, default={})
    labels = config.get("num_labels") or len(config.get("id2label") or {}) or 1
    if labels != 1:
        raise InvalidInputError(CONFIG, f"must have one label, whose logit is the relevance, has {labels}")


def _require_runs(source: Path, graph: Path, max_tokens: int) -> None:
    """Run the graph as it was given on a short pair and on one of greatest length.

    Raises:
        InvalidInputError: tokenizer, inputs or output are not those of a cross-encoder; names the file.
    """
    if not (source / TOKENIZER_FILE).is_file():
        raise InvalidInputError(TOKENIZER_FILE, f"must be in {source}")
    try:
        tokens = PairTokens.load(source / TOKENIZER_FILE, max_tokens=max_tokens)
    except CorruptArtifactError as error:
        raise InvalidInputError(TOKENIZER_FILE, f"must join a query and a passage: {error}") from error
    try:
        session = PairSession(graph, threads=1)
        for ids, types in tokens.pairs("a question", ["an answer", "word " * max_tokens]):
            session.logit(ids, types)
    except CorruptArtifactError as error:
        expected = "must take input_ids (and attention_mask, token_type_ids) and give one logit for a pair"
        raise InvalidInputError(graph.name, f"{expected}: {error}") from error


def _lay_out(source: Path, folder: Path) -> None:
    for file in (TOKENIZER_FILE, CONFIG, TOKENIZER_CONFIG):
        if (source / file).is_file():
            shutil.copyfile(source / file, folder / file)


def _logits(folder: Path) -> NDArray[np.float64]:
    return sample_logits(CrossEncoder.load(folder, places=Semaphore(1)))


def _seal(origin: Origin, max_tokens: int, folder: Path, precision: Precision, note: str) -> None:
    """Write the card with the checksums of all files in `folder`."""
    (folder / RERANKER_FILE).unlink(missing_ok=True)
    card = RerankerCard(
        name=origin.name,
        max_tokens=max_tokens,
        precision=precision,
        files=file_checksums(folder),
        source=f"{origin.source}; {note}",
    )
    write_card(folder, card)
