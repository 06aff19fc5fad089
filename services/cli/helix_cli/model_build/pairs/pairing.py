"""Makes one model of two installed encoders: one embeds passages, the other queries.

The encoder of queries was trained to give the vectors of the other (distillation), so it costs a recall less.
It makes the codes of tokens on both sides, because the states of the two are not comparable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_cli.model_build.importing import copy_files, file_checksums
from helix_cli.model_build.publish import Existing, publish
from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import (
    CARD_FILE,
    PROJECTION_FILE,
    QUERY_ENCODER_FOLDER,
    ModelCard,
    load_card,
    write_card,
)
from helix_shared.errors import InvalidInputError, PermanentError

if TYPE_CHECKING:
    from pathlib import Path

LEAST_FOUND: Final = 0.9
"""Share of the sample texts that, embedded as queries, must be nearest to themselves as passages."""


def pair(passages: Path, queries: Path, root: Path, name: str, *, existing: Existing) -> Path:
    """Make the model `name` under `root` of the encoders in two folders; returns its folder.

    Raises:
        InvalidInputError: one of them is a pair or has a late-interaction model, or their vectors have
            different lengths.
        PermanentError: their vectors are not in one space.
        CorruptArtifactError: a file of one of them is missing or changed.
    """
    cards = load_card(passages), load_card(queries)
    for field, card in zip(("passages", "queries"), cards, strict=True):
        if card.has_query_encoder or card.has_late_interaction:
            raise InvalidInputError(field, f"must be a plain encoder, {card.name} holds a second model")
    dimensions = [card.dimensions for card in cards]
    if dimensions[0] != dimensions[1]:
        expected = f"must give vectors of {dimensions[0]} numbers as {cards[0].name}, gives {dimensions[1]}"
        raise InvalidInputError("queries", expected)

    def fill(stage: Path) -> None:
        copy_files(passages, stage, [path for path in cards[0].files if path != PROJECTION_FILE])
        copy_files(queries, stage / QUERY_ENCODER_FOLDER, [*cards[1].files, CARD_FILE])
        made = cards[0].model_dump() | {
            "name": name,
            "files": file_checksums(stage),
            "source": f"passages: {cards[0].id}; queries: {cards[1].id}",
        }
        write_card(stage, ModelCard.model_validate(made))
        _require_one_space(stage)

    return publish(root, name, fill, existing=existing)


def _require_one_space(folder: Path) -> None:
    """Check that a text as a query is nearest to itself as a passage, whatever the cosines are.

    Raises:
        PermanentError: for too few of the sample texts.
    """
    with Encoder.load(folder) as encoder:
        passages = encoder.embed_many(SAMPLE_TEXTS)
        queries = np.stack([encoder.embed_query(text) for text in SAMPLE_TEXTS])
    found = float(np.mean(np.argmax(queries @ passages.T, axis=1) == np.arange(len(SAMPLE_TEXTS))))
    if found < LEAST_FOUND:
        raise PermanentError(
            f"the encoders are not in one space: {found:.0%} of {len(SAMPLE_TEXTS)} sample texts are nearest "
            f"to themselves, {LEAST_FOUND:.0%} must be: {folder.name}"
        )
