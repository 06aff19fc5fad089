"""Removes query adapters of tenants that were fitted with what is erased (ops/decisions/0064).

`helix-lab adapter --from-feedback` writes them beside the generations. This is called when the generation
that holds an erasure is published, at the start, and with every generation while an adapter is withheld. An
adapter that is written later is checked against that generation by the command itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.ledger.event_reach import value_code
from helix_shared.artifacts.learned_adapters import (
    ADAPTERS,
    memories_of,
    read_learned_card,
    release,
    remove_learned,
    remove_unfinished,
    tenants_with_files,
    withhold,
)
from helix_shared.errors import CorruptArtifactError, NotFoundError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from helix_consolidation.ledger.event_reach import ValueKind
    from helix_consolidation.ledger.lifecycle.tombstones import Tombstones
    from helix_shared.artifacts.learned_adapters import LearnedCard

_log = logger(__name__)


def remove_fitted_with_erased(root: Path, tombstones: Tombstones) -> list[str]:
    """Remove the adapters in a data folder that were fitted with something erased; return their tenants.

    Files that no card names go as well. An adapter with a file that cannot be removed is withheld, which the
    next call ends once it can.
    """
    try:
        tenants = tenants_with_files(root)
    except OSError as error:
        _log.error("learned_adapters_unreadable", folder=str(root / ADAPTERS), reason=str(error))
        return []
    return [one for one in tenants if _is_removed(root, one, tombstones)]


def _is_removed(root: Path, tenant_id: str, tombstones: Tombstones) -> bool:
    try:
        is_removed = is_fitted_with_erased(root, tenant_id, tombstones)
        if is_removed:
            remove_learned(root, tenant_id)
            _log.info("learned_adapter_removed", tenant=tenant_id)
        else:
            remove_unfinished(root, tenant_id)
        release(root, tenant_id)
    except (OSError, CorruptArtifactError) as error:
        _withhold(root, tenant_id, error)
        return False
    return is_removed


def _withhold(root: Path, tenant_id: str, error: Exception) -> None:
    folder = str(root / ADAPTERS / tenant_id)
    _log.error("learned_adapter_not_removed", tenant=tenant_id, folder=folder, reason=str(error))
    try:
        withhold(root, tenant_id)
    except OSError as failure:
        _log.error("learned_adapter_not_withheld", tenant=tenant_id, folder=folder, reason=str(failure))


def is_fitted_with_erased(root: Path, tenant_id: str, tombstones: Tombstones) -> bool:
    """Whether a memory, user or session that an adapter was fitted with was erased.

    A card or list that cannot be read counts as erased: nobody could tell any more, and it is not served.
    """
    try:
        card = read_learned_card(root, tenant_id)
        memories = memories_of(root, card)
    except NotFoundError:
        return False
    except CorruptArtifactError as error:
        _log.warning("learned_adapter_unreadable", tenant=tenant_id, reason=str(error))
        return True
    return (
        _is_erased(card, "user", card.askers, tombstones)
        or _is_erased(card, "session", card.sessions, tombstones)
        or any(value_code(tenant_id, "memory", one) in tombstones.erased_memories for one in memories)
    )


def _is_erased(card: LearnedCard, kind: ValueKind, asked: Mapping[str, int], tombstones: Tombstones) -> bool:
    """Whether an erasure after their first question selects one of the users or sessions that asked."""
    return any(
        sequence > first
        for name, first in asked.items()
        for sequence in tombstones.erased.get(value_code(card.tenant_id, kind, name), {}).values()
    )
