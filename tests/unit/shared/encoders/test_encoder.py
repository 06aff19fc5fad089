from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from prometheus_client import REGISTRY
from tokenizers import Tokenizer

from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import CARD_FILE, GRAPH_FILE, TOKENIZER_FILE, load_card, write_card
from helix_shared.encoders.store import default_model
from helix_shared.encoders.token_codes import Embedding
from helix_shared.encoders.tokens import TextTokens
from helix_shared.encoders.vector_cache import ENTRY_BYTES, VectorCache
from helix_shared.errors import CorruptArtifactError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TWO_VECTORS = 2 * (384 * 4 + ENTRY_BYTES)
TEXTS = [
    "Marta leads the billing team.",
    "the ferry to Naxos leaves at nine",
    "ok",
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
    "A long walk through the forest, past a small lake, and down to the harbour for fish soup. " * 8,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Path:
    """A copy of the default model, whose files some tests replace."""
    return shutil.copytree(default_model(models_dir), tmp_path_factory.mktemp("models") / "copied")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Iterator[Encoder]:
    """Open the built model for throughput."""
    with Encoder.load(folder) as loaded:
        yield loaded


def test_a_vector_is_float32_of_the_cards_length_and_of_length_one(encoder: Encoder) -> None:
    """Cosine is a dot product everywhere else, so vectors come normalised."""
    vectors = encoder.embed_many(TEXTS)
    assert (len(TEXTS), 384) == vectors.shape
    assert np.float32 == vectors.dtype
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)


def test_a_text_has_the_same_bits_alone_in_company_and_in_another_load(
    folder: Path, encoder: Encoder
) -> None:
    """The same text always gives the bitwise same vector: any method, lane, thread count or neighbours."""
    together = encoder.embed_many(TEXTS)
    with Encoder.load(folder, lanes=1, threads_per_lane=2, cache=VectorCache(0)) as other:
        for row, text in reversed(list(enumerate(TEXTS))):
            assert np.array_equal(together[row], other.embed(text))
        assert np.array_equal(together[::-1], other.embed_many(TEXTS[::-1]))


def test_rows_follow_the_order_of_the_texts_and_repeat_with_them(encoder: Encoder) -> None:
    """Equal texts are embedded once and still have a row each."""
    rows = encoder.embed_many([TEXTS[1], TEXTS[0], TEXTS[1]])
    assert np.array_equal(rows[0], rows[2])
    assert np.array_equal(encoder.embed(TEXTS[0]), rows[1])
    assert not np.array_equal(rows[0], rows[1])


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    """An empty batch is a batch."""
    assert encoder.embed_many([]).shape == (0, 384)


def test_an_equal_text_is_answered_from_the_cache(folder: Path) -> None:
    """The cache hands out the very array, read-only; the least recently used one goes first."""
    with Encoder.load(folder, cache=VectorCache(TWO_VECTORS)) as small:
        first = small.embed("one")
        small.embed("two")
        assert first is small.embed("one")
        small.embed("three")
        assert first is small.embed("one")
        assert small.embed("two") is not first
        with pytest.raises(ValueError, match="read-only"):
            first[0] = 0.0


def test_threads_that_share_an_encoder_get_the_same_vectors(folder: Path) -> None:
    """An encoder may be called from many threads at once, with a cache that is too small for them."""
    with Encoder.load(folder, cache=VectorCache(TWO_VECTORS)) as shared, ThreadPoolExecutor(4) as pool:
        expected = shared.embed_many(TEXTS)
        start = threading.Barrier(4)

        def run(shift: int) -> bool:
            start.wait()
            order = [(shift + step) % len(TEXTS) for step in range(len(TEXTS) * 3)]
            return all(np.array_equal(shared.embed(TEXTS[index]), expected[index]) for index in order)

        assert list(pool.map(run, range(4))) == [True] * 4


def test_equal_texts_at_the_same_time_are_embedded_once(folder: Path) -> None:
    """Eight threads embed one long text at the same moment; later ones wait for the run of the first."""
    made = REGISTRY.get_sample_value("helix_embeddings_total", {"source": "model"}) or 0.0
    start = threading.Barrier(8)
    with Encoder.load(folder) as shared, ThreadPoolExecutor(8) as pool:

        def run(_: int) -> np.ndarray:
            start.wait()
            return shared.embed(TEXTS[4])

        vectors = list(pool.map(run, range(8)))
    assert all(np.array_equal(vectors[0], vector) for vector in vectors)
    # a thread that started after the first was done computes the vector again
    runs = (REGISTRY.get_sample_value("helix_embeddings_total", {"source": "model"}) or 0.0) - made
    assert 1 <= runs < 8


@pytest.mark.parametrize("others", [1, 6])
def test_what_another_makes_just_now_is_waited_for_last(
    folder: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """While one thread has a text in work, another that needs it makes its other texts first."""
    begun, go_on, order = threading.Event(), threading.Event(), []
    wanted = [TEXTS[4], *(f"another text {number}" for number in range(others))]
    with Encoder.load(folder, lanes=2) as shared, ThreadPoolExecutor(1) as pool:
        ids = shared._tokens.ids

        def slow(text: str) -> np.ndarray:
            order.append(text)
            if text == TEXTS[4]:
                begun.set()
                assert go_on.wait(30)
            elif len(order) == 1 + others:
                go_on.set()
            return ids(text)

        monkeypatch.setattr(shared._tokens, "ids", slow)
        first = pool.submit(shared.embed, TEXTS[4])
        assert begun.wait(30)
        vectors = shared.embed_many(wanted)
        assert np.array_equal(vectors[0], first.result(30))
    assert sorted(order) == sorted(wanted)


def test_a_cache_stays_within_its_bytes() -> None:
    """A vector of 384 float32 counts 1,536 bytes and its overhead; a cache of zero bytes holds none."""
    cache, none = VectorCache(TWO_VECTORS), VectorCache(0)
    for number in range(5):
        for kept in (cache, none):
            kept.put(str(number), Embedding(np.zeros(384, dtype=np.float32), None))
    assert [cache.get(str(number)) is not None for number in range(5)] == [False, False, False, True, True]
    assert none.get("4") is None


def test_prefixes_of_the_card_come_before_query_and_passage(
    folder: Path, encoder: Encoder, tmp_path: Path
) -> None:
    """Query and passage differ by the card's prefixes and by nothing else."""
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    write_card(
        copy, load_card(copy).model_copy(update={"query_prefix": "find: ", "passage_prefix": "text: "})
    )
    with Encoder.load(copy) as prefixed:
        assert np.array_equal(encoder.embed("find: keys"), prefixed.embed_query("keys"))
        assert np.array_equal(encoder.embed("text: keys"), prefixed.embed("keys"))
        assert np.array_equal(encoder.embed("text: keys"), prefixed.embed_many(["keys"])[0])


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0"])
def test_text_without_content_is_refused(encoder: Encoder, text: str) -> None:
    """There is nothing to embed in white space; the error names the field."""
    for embed in (encoder.embed, encoder.embed_query):
        with pytest.raises(InvalidInputError) as caught:
            embed(text)
        assert caught.value.field == "text"
    with pytest.raises(InvalidInputError, match=r"texts\[1\]"):
        encoder.embed_many(["fine", text])


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "a\0b", "\0", "\ufffe \U0010ffff", "\u202eabc"])
def test_text_no_tokenizer_would_take_still_has_a_vector(encoder: Encoder, text: str) -> None:
    """Lone surrogates and NUL are replaced, never raised on."""
    assert np.linalg.norm(encoder.embed(text)) == pytest.approx(1.0, abs=1e-6)
    assert encoder.count_tokens(text) >= 0


def test_surrogates_that_form_a_pair_are_the_character_they_mean(encoder: Encoder) -> None:
    """Text from UTF-16 systems may hold the two halves of one character."""
    assert np.array_equal(encoder.embed("\N{ROCKET} launch"), encoder.embed("\ud83d\ude80 launch"))


def test_text_beyond_the_limit_is_cut_and_still_counted(encoder: Encoder) -> None:
    """254 words and two special tokens fill MiniLM's 256; the rest changes nothing but the count."""
    fits, over, less = ("word " * count for count in (254, 900, 253))
    assert encoder.card.max_tokens == 256
    assert np.array_equal(encoder.embed(fits), encoder.embed(over))
    assert not np.array_equal(encoder.embed(fits), encoder.embed(less))
    assert encoder.count_tokens(over) == 900


def test_tokens_are_counted_without_the_special_ones(encoder: Encoder) -> None:
    """Hello and world are words of the vocabulary; unbelievably is un ##bel ##ie ##va ##bly."""
    counts = [encoder.count_tokens(text) for text in ("", "hello world", "unbelievably")]
    assert counts == [0, 2, 5]


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        ("Where is the cat?", "A kitten sleeps on the sofa.", "The database ran out of disk space."),
        ("Why was the site down?", "The outage came from an expired certificate.", "She adopted two dogs."),
        ("When is the wedding?", "They are getting married on 3 May.", "The recipe needs three eggs."),
    ],
)
def test_what_answers_a_question_is_nearer_than_what_does_not(
    encoder: Encoder, query: str, right: str, wrong: str
) -> None:
    """The order of meaning survives the conversion, with a margin."""
    question, near, far = encoder.embed_query(query), encoder.embed(right), encoder.embed(wrong)
    assert question @ near > question @ far + 0.2


@pytest.mark.parametrize("file", [GRAPH_FILE, TOKENIZER_FILE])
def test_a_model_with_a_changed_or_missing_file_is_not_loaded(
    folder: Path, tmp_path: Path, file: str
) -> None:
    """Every file is checked against its sha256 before anything runs."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    data = bytearray((copy / file).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / file).write_bytes(data)
    with pytest.raises(CorruptArtifactError, match="changed"):
        Encoder.load(copy)
    (copy / file).unlink()
    with pytest.raises(CorruptArtifactError, match="missing"):
        Encoder.load(copy)


def test_a_folder_without_a_card_is_damaged_and_no_folder_is_not_found(tmp_path: Path) -> None:
    """Absent and damaged are different instructions to the caller."""
    with pytest.raises(CorruptArtifactError, match=CARD_FILE):
        Encoder.load(tmp_path)
    with pytest.raises(NotFoundError):
        Encoder.load(tmp_path / "nowhere")


@pytest.mark.parametrize("words", [0, 1, 40, 254, 255, 600, 3_000])
def test_ids_are_those_of_the_models_own_tokenizer(folder: Path, words: int) -> None:
    """Tokenised once for counting and embedding: cut, and special tokens put around, as the file says."""
    own = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    own.no_padding()
    own.enable_truncation(max_length=256)
    tokens = TextTokens.load(folder / TOKENIZER_FILE, max_tokens=256)
    text = " ".join(["lighthouse", "Keeper's"][number % 2] for number in range(words))
    for _ in range(2):
        assert tokens.ids(text).tolist() == [own.encode(text).ids]
    own.no_truncation()
    assert tokens.count(text) == len(own.encode(text, add_special_tokens=False).ids)
