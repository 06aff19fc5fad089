"""Token codes of texts: from the run that gives the vector, and the same for the same text."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from prometheus_client import REGISTRY

from helix_shared.edges import TOKEN_CODE_BYTES
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import PROJECTION_FILE, load_card, write_card
from helix_shared.encoders.store import default_model
from helix_shared.encoders.token_codes import CODE_BITS, Embedding, TokenProjection
from helix_shared.encoders.vector_cache import VectorCache
from helix_shared.errors import CorruptArtifactError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = "Odile: the unbelievably slow ferry, to Naxos, leaves at nine!"
WORDS = ["Odile", "the", "unbelievably", "slow", "ferry", "to", "Naxos", "leaves", "at", "nine"]


@pytest.fixture(scope="module")
def folder(models_dir: Path) -> Path:
    """The built default model."""
    return default_model(models_dir)


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Iterator[Encoder]:
    """The default model, opened."""
    with Encoder.load(folder) as loaded:
        yield loaded


def signs(codes: np.ndarray) -> np.ndarray:
    """Codes as numbers of -1 and 1."""
    return np.unpackbits(codes, axis=1).astype(np.float32) * 2 - 1


def test_codes_are_of_the_pieces_of_words_alone(encoder: Encoder) -> None:
    """No codes for special tokens and punctuation; words of several pieces have several."""
    vector, codes = encoder.embed_with_codes(TEXT)
    assert np.array_equal(vector, encoder.embed(TEXT))
    assert codes.dtype == np.uint8
    words = [TEXT[span[0] : span[1]] for span in encoder.coded_words(TEXT, len(codes)) if span]
    assert list(dict.fromkeys(words)) == WORDS
    assert len(words) == len(codes) > len(WORDS)
    with pytest.raises(ValueError, match="read-only"):
        codes[0] = 0


def test_a_text_has_the_same_codes_alone_and_in_company(folder: Path, encoder: Encoder) -> None:
    """In any method, lane or load; `without` gives vectors alone."""
    texts = [TEXT, *(f"text number {number} about boats" for number in range(7))]
    vectors, codes = encoder.embed_many_with_codes(texts, without=["the context of a turn"])
    assert vectors.shape == (9, 384)
    assert len(codes) == 8
    assert np.array_equal(vectors[8], encoder.embed("the context of a turn"))
    with Encoder.load(folder, lanes=1, threads_per_lane=2, cache=VectorCache(0), remembers=False) as other:
        for text, vector, own in zip(texts, vectors, codes, strict=False):
            found = other.embed_with_codes(text)
            assert np.array_equal(found[0], vector)
            assert np.array_equal(found[1], own)
    assert encoder.embed_many_with_codes([])[0].shape == (0, 384)


def test_vector_and_codes_are_one_run(folder: Path) -> None:
    """A cached text needs none; one that was embedded without codes needs one more."""

    def runs() -> float:
        return REGISTRY.get_sample_value("helix_embeddings_total", {"source": "model"}) or 0.0

    with Encoder.load(folder) as fresh:
        before = runs()
        fresh.embed_with_codes("a new text")
        fresh.embed("a new text")
        fresh.embed_many_with_codes(["a new text"])
        assert runs() == before + 1
        fresh.embed("another text")
        fresh.embed_with_codes("another text")
        assert runs() == before + 3
        fresh.embed_query_tokens("another question")
        assert runs() == before + 4


def test_the_words_of_a_question_are_those_of_its_tokens(encoder: Encoder) -> None:
    """The vector is that of `embed_query`; every coded token names the word that it is a piece of."""
    question = "When does the ferry to Naxos leave?"
    tokens = encoder.embed_query_tokens(question)
    assert np.array_equal(tokens.vector, encoder.embed_query(question))
    assert tokens.states.shape == (len(tokens.words), CODE_BITS)
    words = [question[start:end] for start, end in tokens.words]
    assert list(dict.fromkeys(words)) == ["When", "does", "the", "ferry", "to", "Naxos", "leave"]
    assert len(encoder.embed_query_tokens("?!").words) == 0


def test_a_word_of_a_question_is_nearest_to_the_same_word(encoder: Encoder) -> None:
    """The products of projected numbers and signs order words as their meaning does."""
    question = "Which boat was slow?"
    tokens = encoder.embed_query_tokens(question)
    _, codes = encoder.embed_with_codes(TEXT)
    nearest = (tokens.states @ signs(codes).T).argmax(axis=1)
    spans = encoder.coded_words(TEXT, len(codes))
    met = {}
    for (start, end), place in zip(tokens.words.tolist(), nearest.tolist(), strict=True):
        span = spans[place]
        assert span is not None
        met[question[start:end]] = TEXT[span[0] : span[1]]
    assert met["slow"] == "slow"
    assert met["boat"] == "ferry"


def test_the_speaker_before_a_text_has_codes_and_no_place_in_it(encoder: Encoder) -> None:
    """Words are matched from the end, where the text of the memory stands."""
    text = TEXT.removeprefix("Odile: ")
    _, codes = encoder.embed_with_codes(TEXT)
    spans = encoder.coded_words(text, len(codes))
    own = [text[span[0] : span[1]] for span in spans if span]
    assert list(dict.fromkeys(own)) == WORDS[1:]
    assert spans[0] is None
    assert encoder.coded_words(text, 0) == []


def test_the_words_of_a_text_that_was_cut_are_its_first_ones(encoder: Encoder) -> None:
    """What the model did not read has no codes, so words are not matched from the end."""
    text = " ".join(f"{word}, {place}" for place in range(90) for word in ("ferry", "harbour"))
    before = "Odile: "
    _, codes = encoder.embed_with_codes(before + text)
    spans = encoder.coded_words(text, len(codes), before)
    assert spans[0] is None
    own = [text[span[0] : span[1]] for span in spans if span]
    assert own == text.replace(",", "").split()[: len(own)]
    assert len(own) > 150
    # a heading that is not known took places of words at the end
    _, codes = encoder.embed_with_codes(f"Ferries > Boats of the islands, and others\n{text}")
    assert encoder.coded_words(text, len(codes)) == [None] * len(codes)


def test_the_prefix_of_the_card_has_no_codes(folder: Path, encoder: Encoder, tmp_path: Path) -> None:
    """It is the model's, not the text's; spans are those of the text as given."""
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    prefixes = {"query_prefix": "find this: ", "passage_prefix": "stored text: "}
    write_card(copy, load_card(copy).model_copy(update=prefixes))
    with Encoder.load(copy) as prefixed:
        _, codes = prefixed.embed_with_codes(TEXT)
        assert len(codes) == len(encoder.embed_with_codes(TEXT)[1])
        assert prefixed.coded_words(TEXT, len(codes)) == encoder.coded_words(TEXT, len(codes))
        words = prefixed.embed_query_tokens("where is Naxos").words
        assert np.array_equal(words, encoder.embed_query_tokens("where is Naxos").words)


def test_long_and_hostile_texts_have_codes_up_to_the_limit(encoder: Encoder) -> None:
    """254 tokens at most, quickly, whatever the characters."""
    assert encoder.embed_with_codes("word " * 20_000)[1].shape == (254, TOKEN_CODE_BYTES)
    for text in ("\ud800 \0", "?!,.;", "\u202eabc \ufffe", "\N{ROCKET}" * 300):
        _, codes = encoder.embed_with_codes(text)
        assert codes.shape[1] == TOKEN_CODE_BYTES
        assert len(encoder.coded_words(text, len(codes))) == len(codes)
    with pytest.raises(InvalidInputError):
        encoder.embed_query_tokens(" ")


def test_a_model_without_a_projection_is_not_served(folder: Path, tmp_path: Path) -> None:
    """The error says what completes it; its vectors alone can be had by asking for no codes."""
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    card = load_card(copy)
    files = {path: digest for path, digest in card.files.items() if path != PROJECTION_FILE}
    write_card(copy, card.model_copy(update={"files": files}))
    with pytest.raises(CorruptArtifactError, match="helix models build"):
        Encoder.load(copy)
    with Encoder.load(copy, makes_codes=False) as plain:
        assert plain.embed("text").shape == (384,)
        with pytest.raises(CorruptArtifactError, match="without its token projection"):
            plain.embed_with_codes("text")


def test_a_projection_survives_the_disk_and_damage_is_noticed(folder: Path, tmp_path: Path) -> None:
    """Equal projections have equal bytes; other arrays and other files are refused."""
    found = TokenProjection.load(folder / PROJECTION_FILE)
    assert np.linalg.norm(found.matrix, axis=0) == pytest.approx(1.0, abs=1e-2)
    found.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (folder / PROJECTION_FILE).read_bytes()
    TokenProjection(found.centre[:-1], found.matrix, found.coded_ids).save(tmp_path / "short.npz")
    (tmp_path / "text.npz").write_text("no arrays")
    for name in ("short", "text", "missing"):
        with pytest.raises(CorruptArtifactError, match="token projection"):
            TokenProjection.load(tmp_path / f"{name}.npz")


def test_the_bits_of_a_code_are_the_signs_of_the_projected_numbers() -> None:
    """The first number is the most significant bit of the first byte; a state of zeros is no error."""
    random = np.random.default_rng(3)
    projection = TokenProjection(
        np.zeros(5, np.float32), random.standard_normal((5, CODE_BITS)).astype(np.float32), np.ones(4, bool)
    )
    states = random.standard_normal((6, 5)).astype(np.float32)
    numbers = projection.queries(states)
    assert np.array_equal(signs(projection.codes(states)) > 0, numbers > 0)
    assert np.array_equal(projection.queries(3 * states) > 0, numbers > 0)
    assert projection.codes(np.zeros((1, 5), np.float32)).shape == (1, TOKEN_CODE_BYTES)
    assert projection.is_coded(np.array([0, 3, 4, 99])).tolist() == [True, True, False, False]


def test_a_cache_counts_the_bytes_of_codes() -> None:
    """An entry with codes takes their bytes as well."""
    vector, codes = np.zeros(4, np.float32), np.zeros((10, TOKEN_CODE_BYTES), np.uint8)
    assert Embedding(vector, codes).nbytes == Embedding(vector, None).nbytes + 160
