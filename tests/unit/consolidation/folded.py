"""Histories folded without stores, ten times as fast.

What `apply` would write to the stores is kept in dictionaries here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

from nats.aio.msg import Msg

from helix_consolidation.folding.changes import Changes
from helix_consolidation.folding.context import Decide
from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.ledger.lifecycle.tombstones import Usage
from helix_consolidation.relations.decide import decide
from helix_consolidation.stores.shard import Shard
from helix_shared.artifacts.vectors.form import DEFAULT_FORM

from .conftest import NOW
from .histories import TOMBSTONES, quoting_erased

MOST_ORDERS = 12
"""In which a few messages are folded, those of the log and its reverse among them."""
NOT_COMPARED = ("vector", "minhash")
"""They are functions of the text."""


class FoldedShard(Shard):
    """A shard whose rows are kept in dictionaries by ordinal."""

    def __init__(self, decide: Decide) -> None:
        super().__init__(
            Path(), ConsolidationState(), None, None, maintain_every=64, form=DEFAULT_FORM, decide=decide
        )
        self.rows: dict[int, dict[str, Any]] = {}
        self.added: dict[int, dict[str, Any]] = {}
        self.relations: dict[tuple[int, int, str], float] = {}

    def _stored(self, ordinal: int, columns: Sequence[str]) -> Mapping[str, Any]:
        return {name: self.rows[ordinal][name] for name in columns}

    def _stored_many(self, ordinals: Sequence[int], columns: Sequence[str]) -> dict[int, Mapping[str, Any]]:
        known = [ordinal for ordinal in ordinals if ordinal in self.rows]
        return {o: {name: (self.rows[o] | self.added[o])[name] for name in columns} for o in known}

    def _write(self, changes: Changes) -> None:
        for ordinal, (batch, row) in changes.rows.items():
            columns = [name for name in changes.batches[batch].schema.names if name not in NOT_COMPARED]
            values = changes.batches[batch].select(columns).slice(row, 1).to_pylist()[0]
            self.rows[ordinal] = values
            self.added.setdefault(ordinal, {"expansions": [], "links": [], "usage": Usage()})
        for ordinal, quotes in changes.blanked.items():
            row = self.rows[ordinal]
            row |= {"context": "", "quotes": quotes, "revision_sequence": row["stream_sequence"]}
        for name, added in (("expansions", changes.expansions), ("links", changes.links)):
            for ordinal, value in added.items():
                self.added[ordinal][name] = value
        for ordinal, usage in changes.usage.items():
            self.added[ordinal]["usage"] += usage
        for key, relation in changes.relations.items():
            self.relations[key] = relation.weight
        for ordinal in changes.erased:
            self.rows.pop(ordinal, None)
            self.added.pop(ordinal, None)
        gone = [key for key, weight in self.relations.items() if not weight or set(key[:2]) & changes.erased]
        for key in gone:
            del self.relations[key]


def folded(
    messages: Sequence[Msg], random: Random, *, decide: Decide = decide, largest_batch: int = 9
) -> dict[str, Any]:
    """The state after delivering `messages` in batches of random sizes until nothing is postponed."""
    shard, queue = FoldedShard(decide), list(messages)
    while queue:
        size = random.randrange(1, largest_batch + 1)
        batch, queue = queue[:size], queue[size:]
        outcome = shard.apply(batch, now=NOW, log_end=10**9)
        queue += [message for message, _ in outcome.postponed]
    return _state(shard)


def fold_to_one_state_in_any_order(messages: Sequence[Msg]) -> None:
    """Assert that the state does not depend on the order in which a few messages arrive."""
    in_order = folded(messages, Random(0))
    orders = list(permutations(messages))
    others = Random(len(messages)).sample(orders[1:-1], min(MOST_ORDERS, len(orders)) - 2)
    for number, order in enumerate([orders[-1], *others]):
        assert folded(order, Random(number)) == in_order


def _state(shard: FoldedShard) -> dict[str, Any]:
    state, ledger = shard.state, shard.state.ledger
    ids = {ordinal: ledger.memory_id(ordinal) for ordinal in shard.rows}
    found = {
        "rows": {
            ids[o]: quoting_erased(state, shard.rows[o])
            | shard.added[o]
            | asdict(ledger.status(o))
            | {"duplicate_of": ids.get(ledger.duplicate_of(o))}
            for o in shard.rows
        },
        "relations": {(ids[a], ids[b], edge): w for (a, b, edge), w in shard.relations.items()},
        "pending": state.pending.actions,
        "sequences": (state.applied.floor, state.applied.above, state.derived.floor, state.derived.above),
        "hidden": ledger.hidden,
        "digest": ledger.digest,
    }
    return found | {name: getattr(state.tombstones, name) for name in TOMBSTONES}
