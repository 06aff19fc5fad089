"""The query adapters of single tenants, as the data folder holds them now (ops/decisions/0064).

A recall asks for the adapter of its tenant. That costs one look at the card, so a new adapter is served
without a restart, and a removed one is not. The latest `CAPACITY` that were asked for stay in memory. One of
another model, or a damaged one, is refused: the tenant is served with the adapter of the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_query.scheduling.lru_cache import LruCache
from helix_shared.artifacts.learned_adapters import (
    CardState,
    adapter_path,
    read_learned_card,
    state_of,
    tenants_with_cards,
)
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.errors import CorruptArtifactError, NotFoundError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

    from helix_shared.encoders.encoder import Encoder

CAPACITY: Final = 64
"""Adapters in memory; one takes .9 MB with 384 dimensions."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class LearnedAdapter:
    """An adapter of one tenant, in the numbers of the encoder's projection."""

    number: int
    adapter: QueryAdapter


@dataclass(frozen=True, slots=True)
class _Held:
    state: CardState
    model: str
    """Checksum of the encoder."""
    learned: LearnedAdapter | None
    """None: it was refused."""


class LearnedAdapters:
    """Reads the adapters below a data folder; safe for several threads."""

    def __init__(self, root: Path, *, capacity: int = CAPACITY) -> None:
        self._root = root
        self._held = LruCache[str, _Held](capacity)
        self._encoders: dict[str, tuple[CardState | None, str]] = {}
        """By tenant: the state of the card, and the encoder that it names."""

    def of(self, tenant_id: str, encoder: Encoder) -> LearnedAdapter | None:
        """The adapter of a tenant for an encoder; None: there is none, or it was refused."""
        state, model = state_of(self._root, tenant_id), encoder.card.checksum
        if state is None:
            self._held.discard(tenant_id)
            return None
        held = self._held.get(tenant_id)
        if held is not None and (held.state, held.model) == (state, model):
            return held.learned
        # two threads may load the same file; nobody waits for the disk of another tenant
        found = self._load(tenant_id, encoder)
        self._held.put(tenant_id, _Held(state, model, found))
        return found

    def counts(self, encoder: Encoder) -> tuple[int, int]:
        """Number of adapters on the disk whose cards fit an encoder, and of the others."""
        encoders = dict[str, tuple[CardState | None, str]]()
        for tenant_id in tenants_with_cards(self._root):
            state = state_of(self._root, tenant_id)
            before = self._encoders.get(tenant_id)
            # GetStatus is asked often, so a card is read once
            if before is None or before[0] != state:
                before = state, self._encoder_of(tenant_id) if state is not None else ""
            encoders[tenant_id] = before
        self._encoders = encoders
        fitting = [one for _, one in encoders.values() if one == encoder.card.encoder_checksum]
        return len(fitting), len(encoders) - len(fitting)

    def _encoder_of(self, tenant_id: str) -> str:
        """Checksum of the encoder that a card names; empty if it cannot be read."""
        try:
            return read_learned_card(self._root, tenant_id).encoder
        except (CorruptArtifactError, NotFoundError):
            return ""

    def _load(self, tenant_id: str, encoder: Encoder) -> LearnedAdapter | None:
        try:
            card = read_learned_card(self._root, tenant_id)
            if card.encoder != encoder.card.encoder_checksum:
                _log.warning("learned_adapter_refused", tenant=tenant_id, reason="fitted for another model")
                return None
            adapter = QueryAdapter.load(adapter_path(self._root, card))
        except NotFoundError:
            return None
        except CorruptArtifactError as error:
            _log.warning("learned_adapter_refused", tenant=tenant_id, reason=str(error))
            return None
        _log.info("learned_adapter_served", tenant=tenant_id, number=card.number)
        return LearnedAdapter(card.number, adapter.for_encoder(encoder))
