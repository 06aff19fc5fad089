import sqlite3
from pathlib import Path

import numpy as np
import pytest

from helix_lab.sets import vector_store
from helix_lab.sets.vector_store import VectorStore
from helix_shared.edges import TOKEN_CODE_BYTES
from helix_shared.encoders.token_codes import Embedding

VECTOR = np.arange(4, dtype="<f4")
CODES = np.ones((3, TOKEN_CODE_BYTES), np.uint8)


def test_a_run_that_embeds_does_not_lock_the_file_for_another(tmp_path: Path) -> None:
    """Rows wait in memory: a run used to keep its transaction open until it had 500 texts."""
    with VectorStore(tmp_path, model="m") as slow:
        slow.put("one", Embedding(VECTOR, CODES))
        other = sqlite3.connect(tmp_path / "m.sqlite", timeout=0)
        other.execute("INSERT INTO embeddings VALUES (?, ?, NULL)", (b"two", b""))
        other.commit()
        other.close()


def test_a_run_goes_on_while_another_keeps_the_file_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be written is written later; at the end it is left, since it is only a cache."""
    monkeypatch.setattr(vector_store, "WRITE_EVERY", 1)
    monkeypatch.setattr(vector_store, "LOCKED_SECONDS", 0.0)
    with VectorStore(tmp_path, model="m") as store:
        other = sqlite3.connect(tmp_path / "m.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        store.put("one", Embedding(VECTOR, CODES))
        assert store.get("one") is not None
        other.execute("ROLLBACK")
        store.put("two", Embedding(VECTOR, CODES))
        other.execute("BEGIN IMMEDIATE")
        store.put("three", Embedding(VECTOR, CODES))
    other.close()
    with VectorStore(tmp_path, model="m") as store:
        found = [store.get(text) is not None for text in ("one", "two", "three")]
    assert found == [True, True, False]


def test_what_was_put_is_found_before_and_after_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the store that has it in memory, when a write was due, and in the next run."""
    monkeypatch.setattr(vector_store, "WRITE_EVERY", 2)
    texts = ["one", "two", "three"]
    with VectorStore(tmp_path, model="m") as store:
        for text in texts:
            store.put(text, Embedding(VECTOR, CODES))
        found = [store.get(text) for text in texts]
    with VectorStore(tmp_path, model="m") as store:
        found += [store.get(text) for text in texts]
        assert store.get("four") is None
    assert len(found) == 6
    for one in found:
        assert one is not None
        assert one.codes is not None
        np.testing.assert_array_equal(one.vector, VECTOR)
        np.testing.assert_array_equal(one.codes, CODES)


@pytest.mark.parametrize("every", [1, 500], ids=["written between", "in memory"])
def test_an_embedding_without_codes_does_not_replace_one_with_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """One with codes replaces any."""
    monkeypatch.setattr(vector_store, "WRITE_EVERY", every)
    with VectorStore(tmp_path, model="m") as store:
        store.put("one", Embedding(VECTOR, None))
        store.put("one", Embedding(VECTOR, CODES))
        store.put("one", Embedding(VECTOR, None))
    with VectorStore(tmp_path, model="m") as store:
        found = store.get("one")
    assert found is not None
    assert found.codes is not None
