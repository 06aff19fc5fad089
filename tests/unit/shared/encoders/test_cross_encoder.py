"""A cross-encoder: one logit for each pair, all pairs or none, within its time and its place."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore

import numpy as np
import pytest
from tokenizers import Tokenizer

from helix_cli.model_build.importing import Origin
from helix_cli.model_build.rerankers.importing import import_reranker
from helix_shared.encoders.cross_encoder import MOST_PAIRS, MOST_TOKENS, CrossEncoder
from helix_shared.encoders.tokens import PairTokens
from helix_shared.errors import CorruptArtifactError, InvalidInputError

WEIGHTS = {"ferry": 8.0, "island": 4.0, "clock": -16.0}
LONG = "word " * 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, reranker_folder: Callable[..., Path]) -> Path:
    """An imported cross-encoder that counts a few words of the passage."""
    root = tmp_path_factory.mktemp("rerankers")
    source = reranker_folder(root / "source", WEIGHTS, spread=0.001)
    origin = Origin("words", "a test", keep_fp32=True)
    return import_reranker(source, root / "models", origin, existing="refuse")


@pytest.fixture(scope="module")
def model(folder: Path) -> CrossEncoder:
    """The same, loaded."""
    return CrossEncoder.load(folder, places=Semaphore(8))


def test_each_passage_has_the_logit_of_its_own_pair(model: CrossEncoder) -> None:
    """Words of the query do not count, and neither do those of another passage."""
    passages = ["the ferry", "the island ferry", "a clock", "the ferry"]
    found = model.logits("ferry clock?", passages)
    assert found is not None
    assert np.round(found).tolist() == [8.0, 12.0, -16.0, 8.0]
    alone = [model.logits("ferry clock?", [one]) for one in passages]
    assert [one.item() for one in alone if one is not None] == found.tolist()


def test_the_longer_text_of_a_pair_is_cut(model: CrossEncoder, folder: Path) -> None:
    """Of a passage that is too long the beginning is read; a question that is too long leaves it a half."""
    found = model.logits("short", [f"ferry {LONG}", f"{LONG} ferry"])
    assert found is not None
    assert np.round(found / 8).tolist() == [1.0, 0.0]
    tokens = PairTokens.load(folder / "tokenizer.json", max_tokens=MOST_TOKENS)
    [(ids, types)] = tokens.pairs(LONG, [LONG])
    assert ids.shape == types.shape == (1, MOST_TOKENS)
    assert abs(int((types == 0).sum()) - int((types == 1).sum())) <= 2
    whole = tokens.pairs("who fired the kiln?", ["Odile did, in May."])[0][0]
    file = Tokenizer.from_file(str(folder / "tokenizer.json"))
    file.no_padding()
    plain = file.encode("who fired the kiln?", "Odile did, in May.")
    assert whole.tolist() == [plain.ids]


def test_more_pairs_than_the_guard_allows_are_refused(model: CrossEncoder) -> None:
    """No caller gets a comparison that would take seconds."""
    assert model.logits("q", ["text"] * MOST_PAIRS) is not None
    with pytest.raises(InvalidInputError, match=f"at most {MOST_PAIRS} can be compared, are 31"):
        model.logits("q", ["text"] * (MOST_PAIRS + 1))


def test_all_are_compared_in_time_or_none(model: CrossEncoder) -> None:
    """What cannot be ready at the best pace ends early; enough time makes the difference."""
    begun = time.monotonic()
    assert model.logits("q", [LONG] * 20, until=begun + 60.0) is not None
    begun = time.monotonic()
    assert model.logits("q", [LONG] * 20, until=begun + model.pair_seconds) is None
    assert model.logits("q", [LONG] * 20, until=begun - 1.0) is None


def test_a_model_that_looked_slow_is_tried_again(folder: Path) -> None:
    """It was timed in a busy moment; one pair of each call shows the pace it has now."""
    model = CrossEncoder.load(folder, places=Semaphore(1))
    model._seconds_per_token = 0.5
    passages = ["the ferry"] * 20
    assert model.logits("q", passages, until=time.monotonic() + 30.0) is not None
    assert model.pair_seconds < 0.5 * 64


def test_a_call_without_a_place_does_not_wait(folder: Path) -> None:
    """It gets nothing at once; a place that is given back is used again, also after an error."""
    places = Semaphore(1)
    model = CrossEncoder.load(folder, places=places)
    assert places.acquire(blocking=False)
    assert model.logits("q", ["the ferry"]) is None
    places.release()
    with pytest.raises(AttributeError):
        model.logits("q", [None])  # type: ignore[list-item] # not a text: an error while it has the place
    assert model.logits("q", ["the ferry"]) is not None


def test_threads_get_the_bits_of_a_single_one(model: CrossEncoder) -> None:
    """The session is shared."""
    passages = [f"passage {number} about a ferry" for number in range(10)]
    alone = model.logits("where?", passages)
    assert alone is not None
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: model.logits("where?", passages), range(8)))
    assert all(one is not None and one.tobytes() == alone.tobytes() for one in found)


def test_any_string_can_be_compared(model: CrossEncoder) -> None:
    """Empty texts, lone surrogates and NUL are input like any other."""
    found = model.logits("\ud800\0", ["", "\udfff", "\0", "ferry"])
    assert found is not None
    assert np.isfinite(found).all()
    assert round(found[3]) == 8


def test_a_changed_file_is_never_run(folder: Path, tmp_path: Path) -> None:
    """As with an encoder."""
    other = tmp_path / "words"
    other.mkdir()
    for file in folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    (other / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes() + b" ")
    with pytest.raises(CorruptArtifactError, match=r"tokenizer\.json: sha256"):
        CrossEncoder.load(other, places=Semaphore(1))
