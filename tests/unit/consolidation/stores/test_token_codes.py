"""Token codes come with a row, stay with it through every rewrite, and go with it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent, UndoEvent
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.edges import TOKEN_CODE_BYTES
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import FIRST, SECOND, Bench, Stream, lifecycle, row, statement


def codes(text: str, tokens: int = 3) -> bytes:
    """Codes of `tokens` tokens, which follow from the text."""
    return hashlib.shake_128(text.encode()).digest(tokens * TOKEN_CODE_BYTES)


def published(bench: Bench) -> dict[str, bytes]:
    """The codes of every memory of the next generation, by id."""
    generation = Generation.open(bench.folder, bench.publish().generation)
    found = {}
    for key, record in bench.rows().items():
        own, only_backups_left = generation.signals.token_codes(np.array([record["ordinal"]]))
        assert only_backups_left.tolist() == [len(own)]
        found[key] = own.tobytes()
    generation.close()
    return found


def holders(folder: Path, needle: bytes) -> list[str]:
    """Files below `folder` that hold a code of `needle`."""
    parts = [needle[at : at + TOKEN_CODE_BYTES] for at in range(0, len(needle), TOKEN_CODE_BYTES)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(part in path.read_bytes() for part in parts)]


def test_codes_stay_through_rewrites_and_restarts(bench: Bench, stream: Stream) -> None:
    """Forgetting, restoring, expansions and feedback rewrite a row from the stores."""
    rows = [row("acme", "e1", 1, "a red kite", session_id="s", token_codes=codes("kite"))]
    bench.apply(stream.memories("acme", "e1", 1, rows))
    bench.apply(stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "no codes")]))
    wanted = {FIRST: codes("kite"), SECOND: b""}
    assert published(bench) == wanted
    for number, restore in enumerate((False, True), 3):
        event = ForgetEvent(event_id=f"f{number}", tenant_id="acme", of_session="s", restore=restore)
        bench.apply(lifecycle(event, number))
        assert published(bench) == wanted
    bench.apply(stream.expansions("acme", "e1", 1, ["what flies?"]))
    bench.apply(lifecycle(FeedbackEvent(event_id="b", tenant_id="acme", helpful=[FIRST]), 5))
    assert published(bench) == wanted
    again = bench.reopened()
    again.apply(lifecycle(FeedbackEvent(event_id="c", tenant_id="acme", unhelpful=[FIRST, SECOND]), 6))
    assert published(again) == wanted
    again.shard.close()


def test_a_correction_has_the_codes_of_its_own_text(bench: Bench, stream: Stream) -> None:
    """In the write that hides the version before, which keeps its own for an undo; so in every batch."""
    first = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "old", token_codes=codes("old"))])
    new = row("acme", "e2", 2, "new", corrects=FIRST, token_codes=codes("new", 5))
    second = stream.memories("acme", "e2", 2, [new], keeps=("title", "session_id"))
    bench.apply(first, second)
    assert published(bench) == {FIRST: codes("old"), SECOND: codes("new", 5)}
    bench.apply(lifecycle(UndoEvent(event_id="f", tenant_id="acme", memory_id=SECOND), 3))
    assert bench.found("old") == [FIRST]
    assert published(bench) == {FIRST: codes("old"), SECOND: codes("new", 5)}


def test_a_later_revision_brings_its_codes(bench: Bench, stream: Stream) -> None:
    """A row that comes again with the context that followed replaces the codes, too."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "text", token_codes=codes("one"))]))
    later = row("acme", "e1", 1, "text", revision_sequence=2, token_codes=codes("two", 2))
    bench.apply(stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "next"), later]))
    assert published(bench)[FIRST] == codes("two", 2)


def test_erased_codes_are_on_no_disk(bench: Bench, stream: Stream) -> None:
    """Neither the live stores nor the next generation hold one of them; those of the others stay."""
    rows = [row("acme", "e1", 1, "erase me", token_codes=codes("erased", 4))]
    kept = [row("acme", "e2", 2, "keep me", token_codes=codes("kept", 4))]
    bench.apply(stream.memories("acme", "e1", 1, rows), stream.memories("acme", "e2", 2, kept))
    bench.publish()
    assert holders(bench.folder, codes("erased", 4))
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 3))
    last = bench.publish().generation
    newest = folder_of(bench.folder, last)
    for folder in (bench.folder / "live", newest):
        assert holders(folder, codes("erased", 4)) == []
    assert holders(newest, codes("kept", 4))
    assert published(bench) == {SECOND: codes("kept", 4)}


def test_statements_of_a_turn_have_codes_of_their_own(bench: Bench, stream: Stream) -> None:
    """Derived by ingest or extracted by a language model; erased with the turn."""
    derived = memory_id("acme", "e1", 1)
    rows = [
        row("acme", "e1", 1, "on Tuesday", token_codes=codes("turn")),
        row("acme", "e1", 1, "when? on Tuesday", piece=1, derived_from=FIRST, token_codes=codes("derived")),
    ]
    bench.apply(stream.memories("acme", "e1", 1, rows))
    extracted = statement("acme", "e1", 1, "the move is on Tuesday", window=1, token_codes=codes("extracted"))
    bench.apply(stream.statements("acme", "e1", 1, [extracted]))
    wanted = {FIRST: codes("turn"), derived: codes("derived"), extracted["memory_id"]: codes("extracted")}
    assert published(bench) == wanted
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 2))
    assert published(bench) == {}


@pytest.mark.parametrize("length", [1, TOKEN_CODE_BYTES - 1, TOKEN_CODE_BYTES + 1])
def test_half_a_code_is_refused(bench: Bench, stream: Stream, length: int) -> None:
    """Such a message is broken; nothing of it is stored."""
    rows = [row("acme", "e1", 1, "text", token_codes=b"x" * length)]
    (_, error), *_ = bench.apply(stream.memories("acme", "e1", 1, rows)).dead
    assert "half a token code" in str(error)


def test_a_correction_cannot_keep_the_codes_of_another_text(bench: Bench, stream: Stream) -> None:
    """What follows from the text comes with the text."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "old", token_codes=codes("old"))]))
    new = row("acme", "e2", 2, "new", corrects=FIRST)
    (_, error), *_ = bench.apply(stream.memories("acme", "e2", 2, [new], keeps=("token_codes",))).dead
    assert "token_codes" in str(error)
