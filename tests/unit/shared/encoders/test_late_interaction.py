"""An encoder whose codes of tokens are of a late-interaction model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from helix_cli.model_build.importing import Origin
from helix_cli.model_build.late_interaction.importing import import_late_interaction
from helix_query.profile.adapter import adapter_for
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.errors import InvalidInputError

TEXT = "Odile: the unbelievably slow ferry, to Naxos, leaves at nine!"
WORDS = ["Odile", "the", "unbelievably", "slow", "ferry", "to", "Naxos", "leaves", "at", "nine"]
LIMIT = 32
"""Tokens of a passage that the written folder states; marker and two special ones are among them."""


@pytest.fixture(scope="module")
def encoder(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, late_interaction_folder: Callable[..., Path]
) -> Iterator[Encoder]:
    """Such an encoder, beside the default model."""
    root = tmp_path_factory.mktemp("models")
    given = late_interaction_folder(root / ".given", {"zebra": "ferry"})
    origin = Origin("late", "a test")
    folder = import_late_interaction(given, root, origin, beside=default_model(models_dir), existing="refuse")
    with Encoder.load(folder) as loaded:
        yield loaded


def similarity(encoder: Encoder, word: str, text: str) -> list[float]:
    """Estimated cosines of the one token of a query with the tokens of a text."""
    [state] = encoder.embed_query_tokens(word).states
    signs = np.unpackbits(encoder.embed_with_codes(text)[1], axis=1).astype(np.float32) * 2 - 1
    found: list[float] = (signs @ state / np.linalg.norm(state) / np.sqrt(signs.shape[1])).tolist()
    return found


def test_codes_are_of_the_pieces_of_words_alone(encoder: Encoder) -> None:
    """Neither marker nor special tokens nor punctuation have one, and every code belongs to a word."""
    vector, codes = encoder.embed_with_codes(TEXT)
    assert np.array_equal(vector, encoder.embed(TEXT))
    words = [TEXT[span[0] : span[1]] for span in encoder.coded_words(TEXT, len(codes)) if span]
    assert list(dict.fromkeys(words)) == WORDS
    assert len(words) == len(codes)
    vectors, [again] = encoder.embed_many_with_codes([TEXT], ["other"])
    assert np.array_equal(vectors[0], vector)
    assert np.array_equal(again, codes)


def test_what_the_model_takes_for_alike_is_alike(encoder: Encoder) -> None:
    """Across the markers of query and passage, as far as a sign in place of a number can tell."""
    found = similarity(encoder, "zebra", "The slow ferry leaves the island")
    assert int(np.argmax(found)) == 2
    assert found[2] > 0.6
    assert max(one for place, one in enumerate(found) if place != 2) < 0.45


def test_long_texts_are_cut_where_the_marker_still_fits(encoder: Encoder) -> None:
    """Codes of the first tokens; the words of a cut text are known as long as it stands alone."""
    text = "word " * 300
    _, codes = encoder.embed_with_codes(text)
    assert len(codes) == LIMIT - 3
    assert encoder.coded_words(text, len(codes))[0] == (0, 4)
    assert len(encoder.embed_query_tokens(text).states) == LIMIT - 3
    with pytest.raises(InvalidInputError, match="text: must hold more"):
        encoder.embed_query_tokens(" ")


def test_the_query_adapter_moves_the_vector_alone(encoder: Encoder, models_dir: Path) -> None:
    """It was fitted to the states of the sentence encoder's tokens."""
    adapter = adapter_for(encoder)
    assert adapter is not None
    tokens = encoder.embed_query_tokens("When does the ferry leave?")
    adapted = adapter.tokens(tokens)
    assert np.array_equal(adapted.states, tokens.states)
    assert not np.allclose(adapted.vector, tokens.vector, atol=0.01)
    with Encoder.load(default_model(models_dir)) as plain:
        own = adapter_for(plain)
        assert own is not None
        own_tokens = plain.embed_query_tokens("When does the ferry leave?")
        assert np.array_equal(own.tokens(own_tokens).vector, adapted.vector)
        assert not np.array_equal(own.tokens(own_tokens).states, own_tokens.states)
