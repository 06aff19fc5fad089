"""Chooses the query adapter of a query: that of its tenant, else that of the package (ops/decisions/0064)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_query.profile.adapter import adapter_for

if TYPE_CHECKING:
    from helix_query.generations.learned_adapters import LearnedAdapters
    from helix_query.profile.sections.search import Embed
    from helix_shared.artifacts.filter.selection import Selection
    from helix_shared.encoders.encoder import Encoder
    from helix_shared.encoders.query_adapter import QueryAdapter

PACKAGE: Final = "package"
LEARNED: Final = "learned"


@dataclass(frozen=True, slots=True)
class AppliedAdapter:
    """An adapter, and how an explanation names it."""

    adapter: QueryAdapter | None
    """None: the query stays as the model embeds it."""
    name: str = ""


def adapter_of(
    selection: Selection, encoder: Encoder, learned_adapters: LearnedAdapters | None, constants: Embed
) -> AppliedAdapter:
    """The adapter of a query.

    A recall `as_of` a past moment takes that of the package: what was learned since was not known then, and
    a data folder that is built again may lack it.
    """
    if not constants.adapted:
        return AppliedAdapter(None)
    if constants.learned and learned_adapters is not None and selection.as_of is None:
        learned = learned_adapters.of(selection.tenant_id, encoder)
        if learned is not None:
            return AppliedAdapter(learned.adapter, f"{LEARNED} {learned.number}")
    shipped = adapter_for(encoder)
    return AppliedAdapter(shipped, "" if shipped is None else PACKAGE)
