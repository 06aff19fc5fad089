"""The card of a model (`model.json`), and the check that its files are those of the card.

Files and card determine every vector. Each generation holds the card's `checksum`, and a query service
refuses a generation with another one. `helix_cli.model_build` writes cards; `encoder` reads them with
`load_card`, so a changed file is never run. The card of a reranker is `reranker.json`, so that its folder is
never taken for an encoder; `cross_encoder` reads it. A late-interaction model, and the encoder of queries of
an asymmetric pair, lie inside the folder of an encoder, each with a card of its own; the encoder's card names
all files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from helix_shared.errors import CorruptArtifactError, InvalidInputError, NotFoundError

CARD_FILE = "model.json"
RERANKER_FILE = "reranker.json"
LATE_INTERACTION_FOLDER = "late_interaction"
LATE_INTERACTION_FILE = "late_interaction.json"
QUERY_ENCODER_FOLDER = "query_encoder"
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
PROJECTION_FILE = "token_projection.npz"
_FIRST_MINILM = "9e8bf453cb90d52c8e1ea0c395ac9a24d162fed888b425742d368c71b861abe3"
SAME_VECTORS = {
    "ec386658671fda519a75f9eb5539d88bb8cc9d2bea58b9f95816afb00b9dca71": _FIRST_MINILM,
    "8fb2b0351898f983d0122dbbc9129ec62a8556c03713856d45b5811d049ec113": _FIRST_MINILM,
}
"""The identity of encoders that differ from another one by the rounding of int8 alone: MiniLM with smoothed
products (decision 0103), with weights of 8 and of 7 bits."""
# A name is the name of a folder: no separators, no leading dot (unfinished builds have one).
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def _inside(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or str(pure) != path or path == ".":
        raise ValueError(f"must be a plain path inside the model's folder, is {path!r}")
    return path


ModelName = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
RelativePath = Annotated[str, AfterValidator(_inside)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class FolderCard(BaseModel):
    """What the cards of all models have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    FILE: ClassVar[str]

    name: ModelName
    max_tokens: int = Field(
        gt=2, description="longest input in tokens, the special ones included; the rest is cut"
    )
    precision: Literal["int8", "fp32"]
    files: dict[RelativePath, Sha256] = Field(description="sha256 of every file except the card")
    source: str = Field(description="origin of the weights and how they were checked, for readers")

    @model_validator(mode="after")
    def _names_graph_and_tokenizer(self) -> Self:
        missing = {GRAPH_FILE, TOKENIZER_FILE} - self.files.keys()
        if missing:
            raise ValueError(f"files lacks {', '.join(sorted(missing))}")
        return self

    @property
    def checksum(self) -> str:
        """The model's identity: sha256 over the sorted `sha256  path` lines, as sha256sum prints them."""
        return _checksum(self.files)

    @property
    def id(self) -> str:
        """Name and checksum, `name@checksum`; stored with every vector."""
        return f"{self.name}@{self.checksum}"


class ModelCard(FolderCard):
    """Everything about an encoder besides its files that determines a vector."""

    FILE: ClassVar[str] = CARD_FILE

    dimensions: int = Field(gt=0, description="length of a vector")
    pooling: Literal["mean", "cls"]
    query_prefix: str = Field("", description="prefix of a query")
    passage_prefix: str = Field("", description="prefix of a passage")
    matryoshka_dimensions: tuple[Annotated[int, Field(gt=0)], ...] = Field(
        (), description="lengths of the prefixes of a vector that were trained to be vectors; empty: none"
    )

    def require_matryoshka(self, dimensions: int) -> None:
        """Check that the first `dimensions` of a vector were trained to be a vector; 0: all of them.

        Raises:
            InvalidInputError: they were not; names those that were.
        """
        if dimensions and dimensions not in self.matryoshka_dimensions:
            trained = ", ".join(map(str, self.matryoshka_dimensions))
            expected = f"0 or one of {trained}" if trained else "0"
            raise InvalidInputError(
                "scan_dimensions",
                f"must be {expected} with the model {self.name}, is {dimensions}: other prefixes of its "
                "vectors were not trained (`helix models import --matryoshka` declares them)",
            )

    @property
    def makes_codes(self) -> bool:
        """Whether the model has a token projection; one that an earlier build made has none."""
        return PROJECTION_FILE in self.files or f"{QUERY_ENCODER_FOLDER}/{PROJECTION_FILE}" in self.files

    @property
    def has_query_encoder(self) -> bool:
        """Whether another encoder in the folder embeds queries, into the same space, and makes the codes."""
        return f"{QUERY_ENCODER_FOLDER}/{CARD_FILE}" in self.files

    @property
    def encoder_checksum(self) -> str:
        """The identity of what makes vectors, for what was fitted to their cosines.

        That is everything but what makes codes of tokens: the last digits of a projection differ between
        kinds of processors. Builds that round the same vectors in other ways have one identity.
        """
        found = _checksum(self.encoder_files)
        return SAME_VECTORS.get(found, found)

    @property
    def encoder_files(self) -> dict[str, str]:
        """Digests of the files that make vectors, by path."""
        return {path: digest for path, digest in self.files.items() if not _makes_codes(path)}

    @property
    def has_late_interaction(self) -> bool:
        """Whether codes of tokens are of a late-interaction model in the folder, not of the encoder."""
        return f"{LATE_INTERACTION_FOLDER}/{LATE_INTERACTION_FILE}" in self.files


class RerankerCard(FolderCard):
    """Everything about a cross-encoder besides its files: it reads a query and a passage together."""

    FILE: ClassVar[str] = RERANKER_FILE


class LateInteractionCard(FolderCard):
    """Everything about a late-interaction model besides its files that determines the states of tokens."""

    FILE: ClassVar[str] = LATE_INTERACTION_FILE

    query_marker: int = Field(ge=0, description="id of the token after the start of every query")
    passage_marker: int = Field(ge=0, description="the same of every passage")

    @property
    def max_text_tokens(self) -> int:
        """Longest text in tokens, special tokens included, beside which the marker fits."""
        return self.max_tokens - 1


Card = TypeVar("Card", bound=FolderCard)


def _makes_codes(path: str) -> bool:
    if path.startswith(f"{LATE_INTERACTION_FOLDER}/"):
        return True
    return path in (PROJECTION_FILE, f"{QUERY_ENCODER_FOLDER}/{PROJECTION_FILE}")


def _checksum(files: Mapping[str, str]) -> str:
    lines = sorted(f"{digest}  {path}\n" for path, digest in files.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Hash a file without reading all of it into memory."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_card(folder: Path, card: FolderCard) -> None:
    """Write `card` into `folder`; the last step of making a model."""
    (folder / card.FILE).write_text(card.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_card(folder: Path) -> ModelCard:
    """Read the card of `folder` without checking its files (use `load_card` before running the model).

    Raises:
        NotFoundError: there is no such folder.
        CorruptArtifactError: the card is missing or is not a card.
    """
    return _read(folder, ModelCard)


def load_card(folder: Path) -> ModelCard:
    """Read the card of `folder` and check the sha256 of every file it names.

    Raises:
        NotFoundError: there is no such folder.
        CorruptArtifactError: a file is missing or changed, or the card is unreadable.
    """
    return _checked(folder, read_card(folder))


def read_reranker_card(folder: Path) -> RerankerCard:
    """`read_card` of a reranker."""
    return _read(folder, RerankerCard)


def load_reranker_card(folder: Path) -> RerankerCard:
    """`load_card` of a reranker."""
    return _checked(folder, read_reranker_card(folder))


def load_late_interaction_card(folder: Path) -> LateInteractionCard:
    """`load_card` of a late-interaction model."""
    return _checked(folder, _read(folder, LateInteractionCard))


def _read(folder: Path, kind: type[Card]) -> Card:
    if not folder.is_dir():
        raise NotFoundError(f"no model in {folder}: run `helix models list` to see what there is")
    try:
        return kind.model_validate_json((folder / kind.FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise CorruptArtifactError(
            f"model card is missing or unreadable: {folder / kind.FILE}: {error}"
        ) from error


def _checked(folder: Path, card: Card) -> Card:
    for path, expected in card.files.items():
        try:
            actual = file_sha256(folder / path)
        except OSError as error:
            raise CorruptArtifactError(
                f"model file is missing: {folder / path}: replace the model"
            ) from error
        if actual != expected:
            raise CorruptArtifactError(
                f"model file was changed: {folder / path}: sha256 {actual}, not {expected}: replace it"
            )
    return card
