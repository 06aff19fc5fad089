"""Imports a folder with an ONNX late-interaction model beside an encoder, as one checked model folder.

The vectors of the new model are those of the encoder; the codes of tokens are of the late-interaction model.
So one model makes everything that a home stores, and what applies to another model (`helix models use`, the
checksum in every generation) applies to it as it is.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import onnx

from helix_cli.model_build.graph_file import Precision, find_graph, read_graph
from helix_cli.model_build.importing import copy_files, file_checksums
from helix_cli.model_build.late_interaction.description import Description, describe
from helix_cli.model_build.late_interaction.fidelity import (
    compare,
    require_sound,
    sample_states,
)
from helix_cli.model_build.late_interaction.graph import dense_weights, with_projection
from helix_cli.model_build.publish import Existing, publish
from helix_cli.model_build.quantise import Making, write_graph
from helix_cli.model_build.token_projection import coded_ids_of, save_projection
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.late_interaction import LateInteractionModel
from helix_shared.encoders.model import (
    LATE_INTERACTION_FILE,
    LATE_INTERACTION_FOLDER,
    PROJECTION_FILE,
    TOKENIZER_FILE,
    LateInteractionCard,
    ModelCard,
    load_card,
    write_card,
)
from helix_shared.encoders.session import TokenSession
from helix_shared.encoders.tokens import TextTokens
from helix_shared.errors import CorruptArtifactError, InvalidInputError, PermanentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_cli.model_build.importing import Origin

_SAMPLE: Final = "a word of a passage"


def import_late_interaction(
    source: Path, root: Path, origin: Origin, *, beside: Path, existing: Existing
) -> Path:
    """Import the folder `source` beside the encoder in the folder `beside`.

    The result is the model `origin.name` under `root`; returns its folder.

    Raises:
        InvalidInputError: Helix cannot run the model; the message names the file.
        PermanentError: the int8 model differs too much, or the model is not sound.
        CorruptArtifactError: a file of the encoder is missing or changed.
    """
    if not source.is_dir():
        raise InvalidInputError("folder", f"must be a folder, is {source}")
    if origin.query_prefix is not None or origin.passage_prefix is not None:
        raise InvalidInputError("prefix", "must not be given for a late-interaction model: it has markers")
    return publish(
        root, origin.name, lambda stage: _assemble(source, stage, origin, beside), existing=existing
    )


def _assemble(source: Path, stage: Path, origin: Origin, beside: Path) -> None:
    """Write the checked model into the empty folder `stage`, its card last."""
    encoder = load_card(beside)
    if encoder.has_query_encoder:
        raise InvalidInputError("beside", f"must be one encoder, {encoder.name} is an asymmetric pair")
    description = describe(source)
    inner = stage / LATE_INTERACTION_FOLDER
    inner.mkdir()
    _import_inner(source, inner, origin, description)
    model = LateInteractionModel.load(inner)
    states = sample_states(model)
    require_sound(origin.name, states, sample_states(LateInteractionModel.load(inner)))
    # what makes the vectors, so without a late-interaction model that the encoder has already
    copy_files(beside, stage, encoder.encoder_files)
    coded = coded_ids_of(inner / TOKENIZER_FILE)
    coded[[description.query_marker, description.passage_marker]] = False
    save_projection(stage / PROJECTION_FILE, coded, lambda text: _ids_and_states(model, text))
    kept = encoder.model_dump() | {
        "name": origin.name,
        "files": file_checksums(stage),
        "source": f"{encoder.source}; tokens: {model.card.source}",
    }
    write_card(stage, ModelCard.model_validate(kept))
    _require_codes(stage)


def _ids_and_states(model: LateInteractionModel, text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    run = model.passage(text)
    return run.ids, run.states


def _import_inner(source: Path, inner: Path, origin: Origin, description: Description) -> None:
    """Write the late-interaction model itself into the empty folder `inner`, its card last."""
    making = Making(
        lay_out=lambda folder: shutil.copyfile(source / TOKENIZER_FILE, folder / TOKENIZER_FILE),
        seal=partial(_seal, origin, description),
        results=lambda folder: sample_states(LateInteractionModel.load(folder)),
        compare=compare,
    )
    making.lay_out(inner)
    model = _projected(source, description)
    precision, note = write_graph(model, inner, making, name=origin.name, keep_fp32=origin.keep_fp32)
    making.seal(inner, precision, note)


def _projected(source: Path, description: Description) -> onnx.ModelProto:
    """The graph with its projection.

    Raises:
        InvalidInputError: it cannot be run, or gives states that the projection does not fit.
    """
    graph = find_graph(source)
    model = read_graph(graph)
    width, output = _width(graph, source / TOKENIZER_FILE, description)
    if not description.dense:
        return model
    weights = dense_weights(source / description.dense)
    if width == weights.shape[1]:
        return with_projection(model, output, weights)
    if width != weights.shape[0]:
        expected = f"must give states of {weights.shape[1]} or, projected, {weights.shape[0]} numbers"
        raise InvalidInputError(graph.name, f"{expected}, gives {width}")
    return model


def _width(graph: Path, tokenizer: Path, description: Description) -> tuple[int, str]:
    """Numbers of a state, and the name of the output, of a graph as it was given."""
    try:
        tokens = TextTokens.load(tokenizer, max_tokens=description.max_tokens)
        session = TokenSession(graph, threads=1)
        states = session.states(tokens.ids(_SAMPLE))
    except CorruptArtifactError as error:
        raise InvalidInputError(
            graph.name, f"must give a state for every token of a text: {error}"
        ) from error
    if not tokens.special:
        raise InvalidInputError(TOKENIZER_FILE, "must put a token before a text: the marker follows it")
    return states.shape[1], session.output


def _seal(origin: Origin, description: Description, folder: Path, precision: Precision, note: str) -> None:
    """Write the card with the checksums of all files in `folder`."""
    (folder / LATE_INTERACTION_FILE).unlink(missing_ok=True)
    card = LateInteractionCard(
        name=origin.name,
        max_tokens=description.max_tokens,
        query_marker=description.query_marker,
        passage_marker=description.passage_marker,
        precision=precision,
        files=file_checksums(folder),
        source=f"{origin.source}; {note}",
    )
    write_card(folder, card)


def _require_codes(folder: Path) -> None:
    """Check that the finished model gives codes.

    Raises:
        PermanentError: it has none for a plain text.
    """
    with Encoder.load(folder) as encoder:
        if not len(encoder.embed_with_codes(_SAMPLE)[1]):
            raise PermanentError(f"late-interaction model has no codes for {_SAMPLE!r}: {folder.name}")
