from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.token_codes import CODE_BITS, QueryTokens
from helix_shared.errors import CorruptArtifactError


def adapter(dimensions: int = 8, *, scale: float = 0.1) -> QueryAdapter:
    """One of random numbers."""
    made = np.random.default_rng(3)
    shapes = ((dimensions, dimensions), (CODE_BITS, CODE_BITS))
    vector, states = (scale * made.normal(size=shape).astype(np.float32) for shape in shapes)
    return QueryAdapter("0" * 64, vector, states, projection(dimensions))


def projection(dimensions: int, *, seed: int = 5) -> NDArray[np.float32]:
    """Orthonormal columns, or rows if there are fewer dimensions than bits."""
    rows = max(dimensions, CODE_BITS)
    drawn = np.random.default_rng(seed).normal(size=(rows, rows))
    return np.linalg.qr(drawn)[0][:dimensions, :CODE_BITS].astype(np.float32)


def asked(dimensions: int = 8, *, states: int = 3) -> QueryTokens:
    """The embedding of a question of `states` tokens."""
    made = np.random.default_rng(4)
    vector = made.normal(size=dimensions).astype(np.float32)
    words = np.array([[place, place + 1] for place in range(states)], np.int32).reshape(states, 2)
    numbers = made.normal(size=(states, CODE_BITS)).astype(np.float32)
    return QueryTokens(vector / np.linalg.norm(vector), numbers, words, "abc")


def test_zeros_change_nothing() -> None:
    """The matrices are added to the identity."""
    tokens = asked()
    adapted = adapter(scale=0.0).tokens(tokens)
    assert np.allclose(adapted.vector, tokens.vector)
    assert np.array_equal(adapted.states, tokens.states)


@pytest.mark.parametrize("states", [0, 3])
def test_an_adapted_vector_has_length_one(states: int) -> None:
    """And another direction; a question without coded tokens has no states."""
    tokens = asked(states=states)
    adapted = adapter().tokens(tokens)
    assert np.linalg.norm(adapted.vector) == pytest.approx(1.0)
    assert float(adapted.vector @ tokens.vector) < 0.999
    assert adapted.states.shape == tokens.states.shape
    assert adapted.vector.dtype == adapted.states.dtype == np.float32


def test_another_projection_of_the_same_states_gives_the_same_adapted_states() -> None:
    """Builds on other kinds of processors differ in their projections, not in what an adapter does."""
    dimensions = 2 * CODE_BITS
    made = adapter(dimensions)
    rotation = np.linalg.qr(np.random.default_rng(6).normal(size=(CODE_BITS, CODE_BITS)))[0]
    other = (made.projection @ rotation).astype(np.float32)
    raw = np.random.default_rng(7).normal(size=(3, dimensions)).astype(np.float32)
    tokens = asked(dimensions)
    here = made.tokens(replace(tokens, states=raw @ made.projection)).states
    there = made.for_projection(other).tokens(replace(tokens, states=raw @ other)).states
    assert np.allclose(here @ rotation, there, atol=1e-3)
    same = made.for_projection(made.projection)
    assert np.allclose(same.of_states, made.of_states, atol=1e-5)


def test_a_file_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    """And gives the numbers back, to 16 bits."""
    made = adapter()
    made.save(tmp_path / "a.npz")
    made.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    found = QueryAdapter.load(tmp_path / "a.npz")
    assert found.encoder == made.encoder
    assert np.allclose(found.of_vector, made.of_vector, atol=1e-3)
    assert np.allclose(found.of_states, made.of_states, atol=1e-3)
    assert np.allclose(found.projection, made.projection, atol=1e-3)


def test_what_is_no_adapter_is_refused(tmp_path: Path) -> None:
    """A missing file, bytes of something else, and matrices of another shape."""
    path = tmp_path / "query_adapter.npz"
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        QueryAdapter.load(path)
    path.write_bytes(b"PK no zip")
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        QueryAdapter.load(path)
    wrong = np.zeros((8, 7), np.float32)
    QueryAdapter("0" * 64, wrong, np.zeros((1, 1), np.float32), wrong).save(path)
    with pytest.raises(CorruptArtifactError, match="shape"):
        QueryAdapter.load(path)
