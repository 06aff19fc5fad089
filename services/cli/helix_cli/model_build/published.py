"""Models that can be fetched by name: repository, revision, and the sha256 of every file.

The checksums hold for every mirror. `hub` fetches the files; `importing` takes from here the description
that a folder does not state.
"""

from __future__ import annotations

from dataclasses import dataclass

from helix_cli.model_build.description import Description
from helix_shared.encoders.store import BGE_SMALL


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository at the pinned revision."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class HubModel:
    """A repository at a fixed revision, its files, and the description from its card."""

    repository: str
    revision: str
    files: tuple[HubFile, ...]
    description: Description


PUBLISHED: dict[str, HubModel] = {
    # Revision and digests were not read from the hub (this was written with no network): they are what many
    # unrelated public projects pin for this repository, and they agree. A wrong digest can only make
    # a fetch fail. The graph lies in LFS: the hub's X-Linked-Etag header for it is its sha256, to compare.
    # Pooling, length and query prefix are those of the model's card; passages get no prefix.
    BGE_SMALL: HubModel(
        repository="BAAI/bge-small-en-v1.5",
        revision="5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
        files=(
            HubFile(
                "onnx/model.onnx",
                "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35",
                133_093_490,
            ),
            HubFile(
                "tokenizer.json", "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66", 711_396
            ),
            HubFile("config.json", "094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750", 743),
        ),
        description=Description(
            pooling="cls",
            max_tokens=512,
            query_prefix="Represent this sentence for searching relevant passages: ",
        ),
    )
}
