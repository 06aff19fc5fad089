"""Query adapters that were fitted to the feedback of one tenant, in the data folder (ops/decisions/0064).

    <root>/adapters/<tenant>/card.json         the adapter that counts; replaced by rename
    <root>/adapters/<tenant>/000003.npz        the adapter of that card; never changed
    <root>/adapters/<tenant>/000003.memories   ids of the memories that it was fitted with, one a line
    <root>/adapters-withheld/<tenant>          consolidation could not remove the adapter: it is not served

`helix-lab adapter --from-feedback` writes them, the query service reads them, and consolidation removes one
when a memory that it was fitted with is erased, or a user or a session that asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from helix_memory import limits
from helix_shared.artifacts.files.durability import sha256_of, sync, write_synced
from helix_shared.errors import CorruptArtifactError, NotFoundError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

ADAPTERS: Final = "adapters"
WITHHELD: Final = "adapters-withheld"
"""Beside the adapters, whose folder may belong to another user of the system."""
CARD: Final = "card.json"
_TENANT: Final = re.compile(limits.TOKEN_PATTERN)

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class HeldOut(BaseModel):
    """A metric of whole recalls over questions that were left out of the fit, 0 to 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    before: float = Field(description="mean with the adapter of the package")
    after: float = Field(description="mean with adapters fitted without the question")
    low: float = Field(description="of the 95 % interval of the mean difference")
    high: float


class LearnedCard(BaseModel):
    """What is known of one learned adapter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    tenant_id: str = Field(pattern=limits.TOKEN_PATTERN)
    number: int = Field(ge=1, description="version; grows with every fit of the tenant")
    encoder: Sha256 = Field(description="`ModelCard.encoder_checksum` of the model it was fitted for")
    adapter: Sha256 = Field(description="sha256 of the adapter's file")
    memories: Sha256 = Field(description="sha256 of the list of memories")
    fitted_at: datetime
    generation: int = Field(ge=1, description="generation that it was fitted on")
    questions: int = Field(ge=1, description="questions that it was fitted to")
    held_out: dict[str, HeldOut] = Field(description="by name of the metric")
    askers: dict[str, int] = Field(
        default_factory=dict, description="users that asked, with the log sequence of their first question"
    )
    sessions: dict[str, int] = Field(default_factory=dict, description="the same of sessions")

    @property
    def adapter_file(self) -> str:
        """Name of the adapter's file."""
        return f"{self.number:06d}.npz"

    @property
    def memories_file(self) -> str:
        """Name of the list of memories."""
        return f"{self.number:06d}.memories"


@dataclass(frozen=True, slots=True)
class CardState:
    """Identity of a card on the disk; another one after every fit."""

    inode: int
    written_ns: int


def state_of(root: Path, tenant_id: str) -> CardState | None:
    """The state of a tenant's card; None: the tenant has no learned adapter, or it is withheld.

    One call of the file system, two for a tenant with a card.
    """
    if not _TENANT.fullmatch(tenant_id):
        return None
    try:
        status = (root / ADAPTERS / tenant_id / CARD).stat()
    except OSError:
        return None
    if (root / WITHHELD / tenant_id).exists():
        return None
    return CardState(status.st_ino, status.st_mtime_ns)


def tenants_with_cards(root: Path) -> list[str]:
    """Tenants that have a learned adapter, sorted."""
    folder = root / ADAPTERS
    return sorted(path.parent.name for path in folder.glob(f"*/{CARD}")) if folder.is_dir() else []


def tenants_with_files(root: Path) -> list[str]:
    """Tenants of which there is a file: an adapter, what is left of one, or the mark of one withheld; sorted.

    Raises:
        OSError: a folder cannot be read.
    """
    folders = [folder for folder in (root / ADAPTERS, root / WITHHELD) if folder.is_dir()]
    return sorted({path.name for folder in folders for path in folder.iterdir() if _is_tenant(path)})


def has_withheld(root: Path) -> bool:
    """Whether an adapter is withheld."""
    folder = root / WITHHELD
    return folder.is_dir() and any(folder.iterdir())


def withhold(root: Path, tenant_id: str) -> None:
    """Let no adapter of a tenant be served until `release`."""
    folder = root / WITHHELD
    folder.mkdir(exist_ok=True)
    (folder / tenant_id).touch()
    sync(folder)


def release(root: Path, tenant_id: str) -> None:
    """Undo `withhold`."""
    (root / WITHHELD / tenant_id).unlink(missing_ok=True)


def read_learned_card(root: Path, tenant_id: str) -> LearnedCard:
    """The card of a tenant.

    Raises:
        NotFoundError: the tenant has no learned adapter.
        CorruptArtifactError: its card cannot be read.
    """
    path = root / ADAPTERS / tenant_id / CARD
    try:
        card = LearnedCard.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise NotFoundError(f"tenant {tenant_id} has no learned adapter under {root}") from error
    except (OSError, ValidationError) as error:
        raise CorruptArtifactError(f"card of a learned adapter cannot be read: {path}: {error}") from error
    if card.tenant_id != tenant_id:
        raise CorruptArtifactError(f"card of a learned adapter is of another tenant: {path}")
    return card


def adapter_path(root: Path, card: LearnedCard) -> Path:
    """The file of a card's adapter, checked.

    Raises:
        CorruptArtifactError: it is missing or is not the file of the card.
    """
    path = root / ADAPTERS / card.tenant_id / card.adapter_file
    _check(path, card.adapter)
    return path


def memories_of(root: Path, card: LearnedCard) -> list[str]:
    """Ids of the memories that an adapter was fitted with.

    Raises:
        CorruptArtifactError: the list is missing or is not that of the card.
    """
    path = root / ADAPTERS / card.tenant_id / card.memories_file
    _check(path, card.memories)
    return path.read_text(encoding="ascii").split()


def publish_learned(
    root: Path, save: Callable[[Path], None], card: LearnedCard, memories: Collection[str]
) -> LearnedCard:
    """Write the next adapter of the card's tenant, then the card, which is returned with its number and sums.

    `save` is `QueryAdapter.save`. Older files are removed: whoever reads one holds it open, or reads the
    new card.

    Raises:
        TemporaryError: consolidation removed its files meanwhile, as it does after an erasure.
    """
    folder = root / ADAPTERS / card.tenant_id
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return _publish(folder, save, card, memories)
    except FileNotFoundError as error:
        raise TemporaryError(
            f"files of the adapter of {card.tenant_id} were removed meanwhile; fit again"
        ) from error


def _publish(
    folder: Path, save: Callable[[Path], None], card: LearnedCard, memories: Collection[str]
) -> LearnedCard:
    numbers = [int(path.stem) for path in folder.iterdir() if path.stem.isdigit()]
    card = card.model_copy(update={"number": 1 + max(numbers, default=0)})
    listed, saved = folder / card.memories_file, folder / card.adapter_file
    write_synced(listed, "".join(f"{one}\n" for one in sorted(set(memories))).encode("ascii"))
    save(saved)
    sync(saved)
    card = card.model_copy(update={"adapter": sha256_of(saved), "memories": sha256_of(listed)})
    fresh = folder / f"{CARD}.new"
    write_synced(fresh, card.model_dump_json(indent=1).encode())
    fresh.replace(folder / CARD)
    sync(folder)
    _remove_others(folder, card)
    return card


def remove_learned(root: Path, tenant_id: str) -> bool:
    """Remove a tenant's adapter, the card first: without it nothing is served. Return whether there was one.

    Raises:
        OSError: a file cannot be removed.
    """
    folder = root / ADAPTERS / tenant_id
    if not (_TENANT.fullmatch(tenant_id) and folder.is_dir()):
        return False
    (folder / CARD).unlink(missing_ok=True)
    for path in folder.iterdir():
        path.unlink(missing_ok=True)
    folder.rmdir()
    sync(folder.parent)
    return True


def remove_unfinished(root: Path, tenant_id: str) -> None:
    """Remove the files of a tenant that its card does not name: what a process that was ended left.

    Raises:
        CorruptArtifactError: the card cannot be read.
        OSError: a file cannot be removed.
    """
    try:
        card = read_learned_card(root, tenant_id)
    except NotFoundError:
        remove_learned(root, tenant_id)
    else:
        _remove_others(root / ADAPTERS / tenant_id, card)


def _remove_others(folder: Path, card: LearnedCard) -> None:
    for path in folder.iterdir():
        if path.name not in (CARD, card.memories_file, card.adapter_file):
            path.unlink(missing_ok=True)


def _is_tenant(path: Path) -> bool:
    return _TENANT.fullmatch(path.name) is not None


def _check(path: Path, digest: str) -> None:
    try:
        found = sha256_of(path)
    except OSError as error:
        raise CorruptArtifactError(f"file of a learned adapter is missing: {path}: {error}") from error
    if found != digest:
        raise CorruptArtifactError(f"file of a learned adapter has another checksum: {path}")
