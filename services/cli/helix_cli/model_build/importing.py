"""Imports a sentence-transformers ONNX folder as a checked model folder.

A float32 graph is quantised and compared with the original; an int8 graph is used as it is. Every model
passes through `assemble`, whether it was built, fetched or given. `publish` moves the result into place.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from helix_cli.model_build.description import CONFIG, Description, describe, write_description
from helix_cli.model_build.fidelity import compare, require_sound, sample_vectors
from helix_cli.model_build.graph_file import Precision, find_graph, read_graph
from helix_cli.model_build.publish import Existing, publish
from helix_cli.model_build.published import PUBLISHED
from helix_cli.model_build.quantise import Making, write_graph
from helix_cli.model_build.token_projection import write_projection
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import (
    CARD_FILE,
    GRAPH_FILE,
    TOKENIZER_FILE,
    ModelCard,
    file_sha256,
    write_card,
)
from helix_shared.encoders.session import GraphSession
from helix_shared.encoders.tokens import TextTokens
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Origin:
    """Facts about a model that are not in its folder; what is None is read from the folder."""

    name: str
    source: str
    query_prefix: str | None = None
    passage_prefix: str | None = None
    matryoshka_dimensions: tuple[int, ...] | None = None
    keep_fp32: bool = False


def import_folder(source: Path, root: Path, origin: Origin, *, existing: Existing) -> Path:
    """Import the ONNX folder `source` as the model `origin.name` under `root` and return its folder.

    Raises:
        InvalidInputError: Helix cannot run the model; the message names the file.
        PermanentError: the int8 model differs too much, or the encoder is not sound.
    """
    if not source.is_dir():
        raise InvalidInputError("folder", f"must be a folder, is {source}")
    return publish(root, origin.name, lambda stage: assemble(source, stage, origin), existing=existing)


def assemble(source: Path, stage: Path, origin: Origin) -> None:
    """Write the checked model from `source` into the empty folder `stage`, its card last."""
    description = _describe(source, origin)
    model = read_graph(find_graph(source))
    making = Making(
        lay_out=lambda folder: _lay_out(source, folder, description),
        seal=partial(_seal, origin, description),
        results=_vectors,
        compare=compare,
    )
    making.lay_out(stage)
    precision, note = write_graph(model, stage, making, name=origin.name, keep_fp32=origin.keep_fp32)
    write_projection(stage, max_tokens=description.max_tokens, prefix=description.passage_prefix)
    making.seal(stage, precision, note)
    with Encoder.load(stage) as first, Encoder.load(stage) as second:
        require_sound(first, second)


def _describe(source: Path, origin: Origin) -> Description:
    published = PUBLISHED.get(origin.name)
    description = describe(source, published=published.description if published else None)
    if origin.query_prefix is not None:
        description = replace(description, query_prefix=origin.query_prefix)
    if origin.passage_prefix is not None:
        description = replace(description, passage_prefix=origin.passage_prefix)
    if origin.matryoshka_dimensions is not None:
        description = replace(description, matryoshka_dimensions=origin.matryoshka_dimensions)
    return description


def _lay_out(source: Path, folder: Path, description: Description) -> None:
    """Copy the tokenizer and write the description."""
    if not (source / TOKENIZER_FILE).is_file():
        raise InvalidInputError(TOKENIZER_FILE, f"must be in {source}")
    for file in (TOKENIZER_FILE, CONFIG):
        if (source / file).is_file():
            shutil.copyfile(source / file, folder / file)
    write_description(folder, description)


def _vectors(folder: Path) -> NDArray[np.float32]:
    with Encoder.load(folder, makes_codes=False) as encoder:
        return sample_vectors(encoder)


def _seal(origin: Origin, description: Description, folder: Path, precision: Precision, note: str) -> None:
    """Write the card with the checksums of all files in `folder`."""
    (folder / CARD_FILE).unlink(missing_ok=True)
    dimensions = _dimensions(folder, description)
    card = ModelCard(
        name=origin.name,
        dimensions=dimensions,
        max_tokens=description.max_tokens,
        pooling=description.pooling,
        query_prefix=description.query_prefix,
        passage_prefix=description.passage_prefix,
        # some models state the whole vector among its prefixes
        matryoshka_dimensions=tuple(one for one in description.matryoshka_dimensions if one < dimensions),
        precision=precision,
        files=file_checksums(folder),
        source=f"{origin.source}; {note}",
    )
    write_card(folder, card)


def copy_files(source: Path, target: Path, paths: Iterable[str]) -> None:
    """Copy files of a model folder, given by their paths there."""
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target / path)


def file_checksums(folder: Path) -> dict[str, str]:
    """The sha256 of every file in `folder` by its path there, sorted."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {file.relative_to(folder).as_posix(): file_sha256(file) for file in files}


def _dimensions(folder: Path, description: Description) -> int:
    """Length of a vector, measured, because exported graphs often do not state it."""
    tokens = TextTokens.load(folder / TOKENIZER_FILE, max_tokens=description.max_tokens)
    session = GraphSession(folder / GRAPH_FILE, pooling=description.pooling, threads=1)
    return int(session.vector(tokens.ids("one text")).shape[0])
