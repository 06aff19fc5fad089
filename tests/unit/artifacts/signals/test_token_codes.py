"""Token codes: gathered in the order given, kept through merges, and gone when erased."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_shared.artifacts.signals import writer as signals_writer
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.edges import TOKEN_CODE_BYTES
from helix_shared.errors import CorruptArtifactError
from tests.examples import examples

Records = Callable[[list[dict[str, Any]]], pa.Table]


def codes(seed: int, count: int) -> bytes:
    """Codes of `count` tokens."""
    return np.random.default_rng(seed).bytes(count * TOKEN_CODE_BYTES)


def parts(signals: Signals, ordinals: list[int]) -> list[bytes]:
    """The codes of each ordinal, as `Signals.token_codes` separates them."""
    found, ends = signals.token_codes(np.array(ordinals, np.int64))
    assert found.dtype == np.uint8
    assert found.shape[1:] == (TOKEN_CODE_BYTES,)
    assert len(found) == (ends[-1] if len(ends) else 0)
    return [part.tobytes() for part in np.split(found, ends[:-1])] if ordinals else []


def test_codes_are_in_the_order_of_the_ordinals(tmp_path: Path, records: Records) -> None:
    """Across segments, with repeats, of memories with many, one or no codes; the newest version counts."""
    given_codes = [codes(ordinal, ordinal % 4) for ordinal in range(9)]
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{"token_codes": own} for own in given_codes])))
    writer.append(*signals_of(records([{"ordinal": 4, "token_codes": codes(99, 5)}])))
    signals = Signals.open(tmp_path / "s")
    assert len(signals.segments) == 2
    given_codes[4] = codes(99, 5)
    wanted = [7, 4, 0, 8, 7, 3]
    assert parts(signals, wanted) == [given_codes[ordinal] for ordinal in wanted]
    assert signals.code_count.tolist() == [0, 1, 2, 3, 5, 1, 2, 3, 0]
    assert writer.token_codes(np.array(wanted)) == [given_codes[ordinal] for ordinal in wanted]


def test_nothing_has_no_codes(tmp_path: Path, records: Records) -> None:
    """No ordinals, an ordinal without a row, and a store without segments."""
    writer = SignalsWriter.open(tmp_path / "s")
    empty = Signals.open(tmp_path / "s")
    assert parts(empty, []) == []
    writer.append(*signals_of(records([{"ordinal": 2, "token_codes": codes(1, 3)}])))
    signals = Signals.open(tmp_path / "s")
    assert parts(signals, [0, 2, 1]) == [b"", codes(1, 3), b""]
    assert parts(signals, [0, 1]) == [b"", b""]
    assert writer.token_codes(np.array([0, 2, 7])) == [b"", codes(1, 3), b""]


def test_an_erased_memory_leaves_no_code(tmp_path: Path, records: Records) -> None:
    """Its codes are neither returned nor in a file; those of the others are unchanged."""
    given_codes = [codes(ordinal, 6) for ordinal in range(3)]
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{"token_codes": own} for own in given_codes])))

    def on_disk(needle: bytes) -> bool:
        return any(needle in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    assert on_disk(given_codes[1][:TOKEN_CODE_BYTES])
    writer.erase(np.array([1]))
    writer.compact()
    signals = Signals.open(tmp_path / "s")
    assert parts(signals, [0, 1, 2]) == [given_codes[0], b"", given_codes[2]]
    for start in range(0, len(given_codes[1]), TOKEN_CODE_BYTES):
        assert not on_disk(given_codes[1][start : start + TOKEN_CODE_BYTES])
    assert on_disk(given_codes[2])


def test_codes_that_a_correction_replaced_are_gone_after_the_merge(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merged segment holds the last version of a row alone."""
    monkeypatch.setattr(signals_writer, "MERGED_TOGETHER", 2)
    writer = SignalsWriter.open(tmp_path / "s")
    for version in range(4):
        writer.append(*signals_of(records([{"token_codes": codes(version, 2)}])))
    assert parts(Signals.open(tmp_path / "s"), [0]) == [codes(3, 2)]
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*.npy"))
    assert [codes(version, 2) in files for version in range(4)] == [False, False, False, True]


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_damaged_file_of_codes_is_corrupt(tmp_path: Path, records: Records, damage: str) -> None:
    """A segment whose codes are not as many as its rows say is refused."""
    SignalsWriter.open(tmp_path / "s").append(*signals_of(records([{"token_codes": codes(1, 2)}])))
    file = tmp_path / "s" / "seg-000001" / "token_codes.npy"
    if damage == "missing":
        file.unlink()
    else:
        np.save(file, np.load(file)[:1])
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        Signals.open(tmp_path / "s")


@settings(
    deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(batches=st.lists(st.dictionaries(st.integers(0, 12), st.integers(0, 4), min_size=1), max_size=6))
def test_any_history_of_writes_gives_the_last_codes(
    tmp_path_factory: pytest.TempPathFactory, records: Records, batches: list[dict[int, int]]
) -> None:
    """However rows are replaced, and whatever is merged: the result is that of a dictionary."""
    folder, last = tmp_path_factory.mktemp("history") / "s", dict[int, bytes]()
    writer, previous = SignalsWriter.open(folder), None
    for number, batch in enumerate(batches):
        fresh = {ordinal: codes(100 * number + ordinal, count) for ordinal, count in batch.items()}
        rows = [{"ordinal": ordinal, "token_codes": own} for ordinal, own in fresh.items()]
        writer.append(*signals_of(records(rows)))
        last |= fresh
        previous = Signals.open(folder, previous=previous)
        everything = list(range(max(last) + 1))
        assert parts(previous, everything) == [last.get(ordinal, b"") for ordinal in everything]
        assert writer.token_codes(np.array(everything)) == [last.get(ordinal, b"") for ordinal in everything]
