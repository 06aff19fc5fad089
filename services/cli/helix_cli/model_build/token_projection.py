"""Fits the token projection of a model: PCA of token states, then the rotation of ITQ.

A rotation that brings the numbers near their signs loses nothing that can be measured against the states
themselves (ops/decisions/0048). The texts ship with Helix, and all random numbers have a fixed seed, so a
model gets the same bytes in every build on one kind of processor.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

import numpy as np
from tokenizers import Tokenizer

from helix_cli.model_build.projection_texts import PROJECTION_TEXTS
from helix_cli.model_build.publish import publish
from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_shared.encoders.model import (
    CARD_FILE,
    GRAPH_FILE,
    PROJECTION_FILE,
    TOKENIZER_FILE,
    ModelCard,
    file_sha256,
    load_card,
    read_card,
    write_card,
)
from helix_shared.encoders.session import TokenSession
from helix_shared.encoders.token_codes import CODE_BITS, TokenProjection
from helix_shared.encoders.tokens import TextTokens

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

ROUNDS: Final = 20
"""Of ITQ; the rotation changes little after a dozen."""
GRID: Final = 2.0**16
"""Numbers are rounded to multiples of 1 / `GRID`, so that neither a BLAS nor its number of threads
matters."""
WORD_MARKS: Final = "\u0120\u010a\u0109\u2581"
"""What vocabularies write for white space: byte-level BPE, then SentencePiece."""
CONTINUATION: Final = "##"


def write_projection(folder: Path, *, max_tokens: int, prefix: str) -> None:
    """Fit the projection of the graph and tokenizer in `folder`, and write it beside them.

    `prefix` stands before every text, as it will before every stored one.
    """
    tokens = TextTokens.load(folder / TOKENIZER_FILE, max_tokens=max_tokens)
    session = TokenSession(folder / GRAPH_FILE, threads=1)

    def run(text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        ids = tokens.ids(prefix + text)
        return ids[0], session.states(ids)

    save_projection(folder / PROJECTION_FILE, coded_ids_of(folder / TOKENIZER_FILE), run)


def save_projection(
    target: Path,
    coded_ids: NDArray[np.bool_],
    run: Callable[[str], tuple[NDArray[np.int64], NDArray[np.float32]]],
) -> None:
    """Fit a projection to the shipped texts and write it; `run` gives ids [n] and states [n, d] of a text."""
    found = []
    for text in (*SAMPLE_TEXTS, *PROJECTION_TEXTS):
        ids, states = run(text)
        found.append(states[coded_ids[ids]])
    centre, matrix = fit(np.concatenate(found))
    TokenProjection(centre, matrix, coded_ids).save(target)


def complete(folder: Path) -> Path:
    """Give the model in `folder` a projection if an older release made it without one; returns `folder`.

    When several processes call this at once, one fits and the others wait.

    Raises:
        CorruptArtifactError: a file of the model is missing or changed.
    """
    if read_card(folder).makes_codes:
        return folder
    return publish(
        folder.parent,
        folder.name,
        lambda stage: _completed(folder, stage),
        existing="keep",
        keeps=lambda card: card.makes_codes,
    )


def _completed(folder: Path, stage: Path) -> None:
    card = load_card(folder)
    for path in (*card.files, CARD_FILE):
        (stage / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / path, stage / path)
    write_projection(stage, max_tokens=card.max_tokens, prefix=card.passage_prefix)
    files = card.files | {PROJECTION_FILE: file_sha256(stage / PROJECTION_FILE)}
    write_card(stage, ModelCard.model_validate(card.model_dump() | {"files": files}))


def coded_ids_of(tokenizer: Path) -> NDArray[np.bool_]:
    """By token id: whether it is a piece of a word or number; special tokens and punctuation are not."""
    loaded = Tokenizer.from_file(str(tokenizer))
    special = {number for number, added in loaded.get_added_tokens_decoder().items() if added.special}
    vocabulary = loaded.get_vocab(with_added_tokens=True)
    coded = np.zeros(max(vocabulary.values()) + 1, np.bool_)
    for piece, number in vocabulary.items():
        surface = piece.removeprefix(CONTINUATION).strip(WORD_MARKS)
        coded[number] = number not in special and any(map(str.isalnum, surface))
    return coded


def fit(states: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Centre [d] and matrix [d, CODE_BITS] for states [n, d]; a small `d` is spread over all bits."""
    exact = states.astype(np.float64)
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    centre = unit.mean(axis=0)
    centred = unit - centre
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :CODE_BITS]
    # the sign of an eigenvector is the library's choice
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    axes = np.pad(axes, ((0, 0), (0, CODE_BITS - axes.shape[1])))
    matrix = axes @ _rotation(centred @ axes)
    return _rounded(centre), _rounded(matrix)


def _rotation(projected: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rotation [CODE_BITS, CODE_BITS] that brings rows near their signs: ITQ from a random one."""
    drawn = np.random.default_rng(0).standard_normal((CODE_BITS, CODE_BITS))
    rotation: NDArray[np.float64] = np.linalg.qr(drawn)[0]
    for _ in range(ROUNDS):
        signs = np.where(projected @ rotation > 0, 1.0, -1.0)
        left, _, right = np.linalg.svd(signs.T @ projected)
        rotation = (left @ right).T
    return rotation


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float32]:
    # adding zero makes a negative zero positive: their bytes differ
    return (np.rint(values * GRID) / GRID + 0.0).astype(np.float32)
