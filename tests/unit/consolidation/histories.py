"""Random histories of every kind of event and derived message, and the state they lead to."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from nats.aio.msg import Msg

from helix_cli.output.graph_export import to_networkx
from helix_consolidation.folding.context import Decide
from helix_consolidation.folding.incoming.decode import decode
from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.relations.decide import decide
from helix_consolidation.stores.shard import Shard
from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.graph.snapshot import GraphSnapshot
from helix_shared.identity import memory_id

from .conftest import NOON, Bench, Stream, lifecycle, row

TENANT = "acme"
USERS = ("", "", "ann", "bob")
GROUPS = ((), (), (), ("hr",))
SESSIONS = ("", "s", "t")
DOCUMENTS = ("d", "e")
WORDS = [f"word{n}" for n in range(40)]
KEPT = ("session_id", "document_id", "project_id", "categories", "title", "expires_at")
"""Columns that a correction may copy from the memory it corrects."""
TOMBSTONES = (
    "forgotten", "erased", "replaced", "erased_memories", "withdrawn", "erased_corrections_of", "executed",
    "actors",
)  # fmt: skip
"""Fields of `Tombstones` that must be equal."""
EVENT_IDS = 9
"""Few, so that ids are published again with other bodies."""


@dataclass
class History:
    """Messages in the order of the log."""

    random: Random
    stream: Stream = field(default_factory=Stream)
    messages: list[Msg] = field(default_factory=list)
    completable: list[dict[str, Any]] = field(default_factory=list)
    scopes: dict[str, dict[str, Any]] = field(default_factory=dict)
    erasures: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=lambda: [memory_id(TENANT, "unknown", 0)])
    said: dict[str, list[str]] = field(default_factory=dict)
    """Session -> its turns so far, which later turns may quote; corrections and documents are none."""
    quoting: Random = field(default_factory=Random)
    """Of its own, so that quotations change nothing else of a history."""

    @classmethod
    def of(cls, seed: int, events: int) -> History:
        """A history of this many events."""
        history = cls(Random(seed), quoting=Random(seed))
        kinds = (history._memory, history._correct, history._document, history._forget, history._erase)
        kinds += (history._feedback, history._memory, history._memory)
        for sequence in range(1, events + 1):
            history.random.choice(kinds)(sequence)
        return history

    def _memory(self, sequence: int) -> None:
        r, event, scope = self.random, self._event(), self._row_scope()
        quotes = self._quotes(event, scope["session_id"])  # of every message of the event
        scope |= {"quotes": quotes, "context": " ".join(quotes)}
        rows = self._rows(event, sequence, r.choice((0, 1, 1, 1, 2)), scope)
        completed = []
        if self.completable and r.random() < 0.3:
            last = self.completable[-1]
            completion = {"context": f"completed at {sequence}", "revision_sequence": sequence}
            also = self._quotes(last["event_id"], last["session_id"])
            completed = [last | completion | {"quotes": list(dict.fromkeys([*last["quotes"], *also]))}]
        self._derive(event, sequence, [*completed, *rows])
        if rows:  # a turn has a memory, so what has none is not quoted
            self.said.setdefault(scope["session_id"], []).append(event)
        if r.random() < 0.25:
            # a worker of another version derives the event again
            self._derive(event, sequence, self._rows(event, sequence, len(rows), scope))
        else:
            self.completable += rows[-1:]

    def _rows(
        self, event: str, sequence: int, pieces: int, scope: dict[str, Any], **fields: Any
    ) -> list[dict[str, Any]]:
        given = scope | fields
        return [row(TENANT, event, sequence, self._text(), piece=p, **given) for p in range(pieces)]

    def _quotes(self, event: str, session: str) -> list[str]:
        earlier = [name for name in self.said.get(session, ()) if session and name != event][-3:]
        return self.quoting.sample(earlier, min(len(earlier), self.quoting.choice((0, 1, 2))))

    def _row_scope(self) -> dict[str, Any]:
        r = self.random
        session = {"session_id": r.choice(SESSIONS), "shared": r.random() < 0.2}
        return self._scope() | session | {"expires_at": NOON if r.random() < 0.1 else None}

    def _derive(self, event: str, sequence: int, rows: list[dict[str, Any]], **origin: Any) -> None:
        r = self.random
        self.ids += [one["memory_id"] for one in rows]
        for one in rows:
            self.scopes[one["memory_id"]] = {name: one[name] for name in ("user_id", "acl", "shared")}
        self.messages.append(self.stream.memories(TENANT, event, sequence, rows, **origin))
        for enrich in (self.stream.expansions, self.stream.links):
            for version in range(r.choice((0, 1, 1, 2))):
                names = [f"Name{r.randrange(4)}", f"v{version}"] if r.random() < 0.7 else []
                self.messages.append(enrich(TENANT, event, sequence, names, piece=r.choice((0, 0, 1))))

    def _correct(self, sequence: int) -> None:
        event, corrected = self._event(), self.random.choice(self.ids)
        scope = self._row_scope() | self.scopes.get(corrected, {})
        pieces = self.random.choice((1, 1, 2))
        keeps = [name for name in KEPT if self.random.random() < 0.5]
        for _ in range(self.random.choice((1, 1, 2))):
            rows = self._rows(event, sequence, pieces, scope, corrects=corrected)
            self._derive(event, sequence, rows, keeps=keeps)

    def _document(self, sequence: int) -> None:
        r, event = self.random, self._event()
        document, scope = r.choice(DOCUMENTS), self._row_scope()
        rows = self._rows(event, sequence, r.choice((0, 1, 2)), scope, document_id=document)
        is_deletion = not rows and r.random() < 0.7
        actor = {"user": scope["user_id"], "acl": scope["acl"], "is_deletion": is_deletion}
        self._derive(event, sequence, rows, document=document, **actor)
        if self.quoting.random() < 0.3:
            again = self.stream.memories(TENANT, event, sequence, rows, document=document, **actor)
            self.messages.append(again)

    def _forget(self, sequence: int) -> None:
        restore = self.random.random() < 0.4
        self._lifecycle(ForgetEvent(restore=restore, **self._common(), **self._selection()), sequence)

    def _erase(self, sequence: int) -> None:
        # an erasure is published again unchanged: what the first one removed cannot come back
        body = self._common() | self._selection() | {"event_id": f"gone{sequence}"}
        if self.erasures and self.random.random() < 0.3:
            body = self.random.choice(self.erasures)
        self.erasures.append(body)
        self._lifecycle(EraseEvent(**body), sequence)

    def _feedback(self, sequence: int) -> None:
        named = {"helpful": self._some_ids(), "unhelpful": self._some_ids()}
        self._lifecycle(FeedbackEvent(**self._common(), **named), sequence)

    def _lifecycle(self, event: Any, sequence: int) -> None:
        self.messages.append(lifecycle(event, sequence))

    def _common(self) -> dict[str, Any]:
        return {"event_id": f"x{self.random.randrange(EVENT_IDS)}", "tenant_id": TENANT} | self._scope()

    def _selection(self) -> dict[str, Any]:
        named = {"memory_ids": self._some_ids(), "of_session": self.random.choice(SESSIONS[1:])}
        named |= {"of_document": self.random.choice(DOCUMENTS), "of_user": self.random.choice(USERS[2:])}
        chosen = self.random.choice(("memory_ids", "memory_ids", *named))
        return {chosen: named[chosen]}

    def _some_ids(self) -> list[str]:
        return self.random.sample(self.ids, min(len(self.ids), self.random.choice((1, 2))))

    def _scope(self) -> dict[str, Any]:
        return {"user_id": self.random.choice(USERS), "acl": list(self.random.choice(GROUPS))}

    def _event(self) -> str:
        is_reused = self.random.random() < 0.4
        return f"e{self.random.randrange(EVENT_IDS)}" if is_reused else f"n{self.stream.last}"

    def _text(self) -> str:
        words = list(WORDS)
        if self.random.random() < 0.7:
            words[self.random.randrange(40)] = self.random.choice(("alpha", "beta"))
            return " ".join(words)
        return " ".join(self.random.sample(words, 12))


def shuffled(messages: list[Msg], random: Random) -> list[Msg]:
    """Each message one to three times, in random order."""
    delivered = [message for message in messages for _ in range(random.choice((1, 1, 2, 3)))]
    random.shuffle(delivered)
    return delivered


def in_log_order(messages: list[Msg]) -> list[Msg]:
    """Sorted by event, within one event as HELIX_DERIVED stored them."""
    return sorted(messages, key=lambda message: decode(message, log_end=10**9).order)


def deliver(bench: Bench, messages: list[Msg], random: Random, *, restarts: float = 0.0) -> Bench:
    """Apply in batches of 1 to 9 messages until nothing is postponed; returns the open bench.

    A restart happens right after a publish, or loses what was applied since, which is then delivered again.
    """
    queue, unpublished = list(messages), list[Msg]()
    while queue:
        size = random.randrange(1, 10)
        batch, queue = queue[:size], queue[size:]
        outcome = bench.apply(*batch)
        bench.shard.dead_letters_stored(outcome)
        unpublished += [*outcome.done, *(message for message, _ in outcome.dead)]
        queue += [message for message, _ in outcome.postponed]
        if bench.shard.can_publish and random.random() < restarts:
            if random.random() < 0.5:
                bench.publish()
                unpublished = []
            queue += unpublished
            unpublished = []
            random.shuffle(queue)
            bench = bench.reopened()
    return bench


def state(bench: Bench) -> dict[str, Any]:
    """All that must be equal, without ordinals: the four stores and the state of the writer."""
    state = bench.shard.state
    if not bench.shard.can_publish:
        return {}
    live = bench.shard._live
    assert live is not None
    rows = {memory: quoting_erased(state, record) for memory, record in bench.rows().items()}
    ids = {record["ordinal"]: memory for memory, record in rows.items()}
    manifest = bench.publish()
    generation = Generation.open(bench.folder, manifest.generation)
    tombstones = state.tombstones
    found = {
        "rows": {
            memory: {name: value for name, value in record.items() if name != "ordinal"}
            for memory, record in rows.items()
        },
        "edges": _edges(generation.graph, ids),
        "lexicon": _lexicon(generation, ids),
        "signals": _signals(generation, rows),
        "tombstones": {name: getattr(tombstones, name) for name in TOMBSTONES},
        "pending": state.pending.actions,
        "provisional": sum(map(len, state.provisional.values())),
        "sequences": (state.applied.floor, state.applied.above, state.derived.floor, state.derived.above),
        "digest": state.ledger.digest,
        "hidden": state.ledger.hidden,
    }
    generation.close()
    return found


def quoting_erased(state: ConsolidationState, record: dict[str, Any]) -> dict[str, Any]:
    """A row with the erased events that it quotes, of which there must be none, instead of all.

    Which other version of a row that lost a quotation is kept until it is derived again is open.
    """
    erased = [name for name in record["quotes"] if state.tombstones.is_event_erased(TENANT, name)]
    return record | {"quotes": erased}


def applied(
    messages: list[Msg], random: Random, *, restarts: float = 0.0, decide: Decide = decide
) -> dict[str, Any]:
    """The state after delivering `messages` to an empty shard."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), Shard.open(Path(folder), maintain_every=64, decide=decide))
        bench = deliver(bench, messages, random, restarts=restarts)
        found = state(bench)
        bench.shard.close()
    return found


def _edges(graph: GraphSnapshot, ids: dict[int, str]) -> Counter[Any]:
    exported = to_networkx(graph)
    names = {node: ids.get(node, data["name"]) for node, data in exported.nodes(data=True)}
    return Counter(
        (names[a], names[b], data["kind"], data["weight"]) for a, b, data in exported.edges(data=True)
    )


def _lexicon(generation: Generation, ids: dict[int, str]) -> dict[str, Any]:
    found = {}
    for query in ("alpha", "beta", "word1", "word7", "name0", "name1", "v1", "completed"):
        for user in ("ann", "bob", ""):
            selection = Selection(tenant_id=TENANT, user_id=user, principals=("hr",))
            hits = generation.lexicon.search(query, selection, limit=100)
            found[query, user] = {ids[ordinal] for ordinal in hits.ordinals.tolist()}
    return found


def _signals(generation: Generation, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    signals, names = generation.signals, ("hidden", "access_count", "stream_sequence", "owner_code")
    found = {}
    for memory, record in rows.items():
        ordinal = record["ordinal"]
        line = signals.records(np.array([ordinal], np.int64))[0]
        line.pop("ordinal")
        values = [getattr(signals, name)[ordinal].item() for name in names]
        vector = signals.vectors(np.array([ordinal], np.int64))[0].tolist()
        found[memory] = (line, values, vector)
    return found
