"""What `helix models list` shows of the installed models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from helix_cli.output.terminal import plain
from helix_shared.encoders.model import (
    ModelCard,
    load_card,
    load_reranker_card,
    read_card,
    read_reranker_card,
)
from helix_shared.encoders.store import model_folders, reranker_folders
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

MEBIBYTE: Final = 1 << 20
ENCODER: Final = "encoder"
RERANKER: Final = "reranker"
LATE_INTERACTION: Final = "late-interaction"
PAIR: Final = "pair"


def model_rows(root: Path, *, default: Path | None) -> list[dict[str, Any]]:
    """One row for each model under `root`, encoders first; files are checked against their cards."""
    encoders = [model_row(folder, ENCODER, is_default=folder == default) for folder in model_folders(root)]
    return encoders + [model_row(folder, RERANKER) for folder in reranker_folders(root)]


def model_row(folder: Path, kind: str, *, is_default: bool = False) -> dict[str, Any]:
    """One model for the table and for JSON; `state` says whether it is damaged."""
    row: dict[str, Any] = {
        "name": folder.name,
        "kind": kind,
        "default": is_default,
        "path": str(folder),
        "state": "ok",
    }
    try:
        card = read_card(folder) if kind == ENCODER else read_reranker_card(folder)
        row |= card.model_dump() | {"checksum": card.checksum, "size_bytes": size_bytes(folder)}
        if kind == RERANKER:
            load_reranker_card(folder)
        else:
            row |= _of_encoder(load_card(folder))
    except CorruptArtifactError as error:
        row["state"] = f"corrupt: {error}"
    return row


def _of_encoder(card: ModelCard) -> dict[str, Any]:
    from helix_cli.commands.common.lines.fitted import fitted_elsewhere  # noqa: PLC0415  slow to import

    kind = LATE_INTERACTION if card.has_late_interaction else PAIR if card.has_query_encoder else ENCODER
    found: dict[str, Any] = {"kind": kind, "fitted_elsewhere": fitted_elsewhere(card).lines(card.name)}
    if not card.makes_codes:
        found["state"] = "incomplete: run `helix models build`"
    return found


def model_table(rows: list[dict[str, Any]]) -> Table:
    """What people compare; `--json` has the rest."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("model", "kind", "default", "type"):
        table.add_column(name, no_wrap=True)
    for name in ("dims", "tokens", "MiB"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("checksum", no_wrap=True)
    table.add_column("state")
    for row in rows:
        size = f"{row['size_bytes'] / MEBIBYTE:.1f}" if "size_bytes" in row else ""
        facts = [str(row.get(key, "")) for key in ("precision", "dimensions", "max_tokens")]
        mark, state = "yes" if row["default"] else "", row["state"].split(":")[0]
        table.add_row(plain(row["name"]), row["kind"], mark, *facts, size, row.get("checksum", "")[:8], state)
    return table


def size_bytes(folder: Path) -> int:
    """Bytes of all files of a model."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
