"""Questions of a T5 model: what the search finds, against sums worked out without the graphs."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_doc2query.app import create_app
from helix_doc2query.consumer import expansion_rows, with_model
from helix_doc2query.t5.beam import beam_search
from helix_doc2query.t5.question_model import QuestionModel, Search
from helix_shared.errors import CorruptArtifactError, InvalidInputError, NotFoundError

from .t5_folder import WORDS, scores, write_folder

TEXT = "odile fired the kiln"
TOKENS = [8, 4, 5, 6, 1]
SEED = 3


def mean_score(sequence: tuple[int, ...], seed: int = SEED) -> float:
    """Mean log probability of a sequence that begins after token 0, its end included."""
    whole = [0, *sequence]
    return float(np.mean([scores(seed, TOKENS, whole[:n])[whole[n]] for n in range(1, len(whole))]))


def test_greedy_search_takes_the_most_probable_word_each_time(tmp_path: Path) -> None:
    """One beam, at most six words."""
    expected = [0]
    while len(expected) <= 6 and expected[-1] != 1:
        expected.append(int(scores(SEED, TOKENS, expected).argmax()))
    model = QuestionModel.load(write_folder(tmp_path), Search(beams=1, question_tokens=6))
    assert model.questions(TEXT) == [" ".join(WORDS[n] for n in expected[1:] if n > 1)]


def test_wide_beams_find_the_best_of_all_sequences() -> None:
    """All sequences of up to three words, by brute force."""
    inner = [n for n in range(len(WORDS)) if n != 1]
    complete = [(*words, 1) for size in (1, 2) for words in itertools.product(inner, repeat=size)]
    open_ones = list(itertools.product(inner, repeat=3))
    best = max([*complete, *open_ones], key=mean_score)

    def next_tokens(prefixes: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.stack([scores(SEED, TOKENS, list(prefix)) for prefix in prefixes])

    found = beam_search(next_tokens, start=0, end=1, beams=400, most_tokens=3)
    assert found[0] == tuple(n for n in best if n != 1)


def test_several_beams_give_several_questions(tmp_path: Path) -> None:
    """Distinct, bounded, and the same each time; empty text has none."""
    model = QuestionModel.load(write_folder(tmp_path), Search(beams=4, question_tokens=8))
    questions = model.questions(TEXT)
    assert 1 < len(questions) <= 4
    assert len(set(questions)) == len(questions)
    assert max(len(question.split()) for question in questions) <= 8
    assert questions == model.questions(TEXT)
    assert model.questions(" \n ") == model.questions("") == []


def test_a_long_text_is_cut_and_takes_bounded_time(tmp_path: Path) -> None:
    """100,000 characters, of which 16 tokens are read."""
    model = QuestionModel.load(write_folder(tmp_path), Search(text_tokens=16))
    begun = time.process_time()
    assert model.questions("kiln glaze " * 9_000) == model.questions("kiln glaze " * 12)
    assert time.process_time() - begun < 5.0


def test_the_questions_of_the_model_come_before_those_of_the_rules(tmp_path: Path) -> None:
    """Both are selected by the words that the text does not have."""
    model = QuestionModel.load(write_folder(tmp_path), Search())
    row = {"memory_id": "m", "text": "We decided to use Postgres for storage.", "title": "", "speaker": ""}
    row |= {"speech_act": "statement", "derived_from": ""}
    by_rules = expansion_rows(row)[0]["expansions"]
    derivation = with_model(model)
    (both,) = derivation.derive(row)
    asked = model.questions(row["text"])
    assert asked[0] in both["expansions"][: len(asked)]
    assert set(by_rules) & set(both["expansions"])
    assert derivation.version.endswith(model.checksum)


def test_what_changes_questions_changes_their_version(tmp_path: Path) -> None:
    """A setting and the configuration, too: else a rebuild would keep the old questions beside new ones."""
    folder = write_folder(tmp_path)
    loaded = [QuestionModel.load(folder, search) for search in (Search(), Search(), Search(prefix="ask: "))]
    (folder / "config.json").write_text(json.dumps({"decoder_start_token_id": 9, "eos_token_id": 1}))
    loaded.append(QuestionModel.load(folder, Search()))
    assert len({model.checksum for model in loaded}) == 3


def test_start_and_end_come_from_the_configuration(tmp_path: Path) -> None:
    """A model that begins with another token gives other questions."""
    folder = write_folder(tmp_path)
    usual = QuestionModel.load(folder, Search()).questions(TEXT)
    (folder / "config.json").write_text(json.dumps({"decoder_start_token_id": 9, "eos_token_id": 1}))
    assert QuestionModel.load(folder, Search()).questions(TEXT) != usual
    (folder / "config.json").write_text("{")
    with pytest.raises(CorruptArtifactError):
        QuestionModel.load(folder, Search())


def test_a_folder_without_such_a_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start, with the file and what to do."""
    with pytest.raises(NotFoundError, match=r"encoder_model\.onnx"):
        QuestionModel.load(tmp_path / "none", Search())
    cached = write_folder(tmp_path / "cached", decoder_inputs=("past_key_values",))
    with pytest.raises(CorruptArtifactError, match="without a cache"):
        QuestionModel.load(cached, Search())
    broken = write_folder(tmp_path / "broken")
    (broken / "decoder_model.onnx").write_bytes(b"no graph")
    with pytest.raises(CorruptArtifactError, match="cannot be run"):
        QuestionModel.load(broken, Search())
    monkeypatch.setenv("HELIX_DOC2QUERY_MODEL_DIR", str(tmp_path / "none"))
    with pytest.raises(NotFoundError):
        create_app()


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ONNX Runtime the start is refused, and says what to install."""
    real: Any = __import__

    def without(name: str, *arguments: Any) -> Any:
        if name.startswith("helix_doc2query.t5"):
            raise ModuleNotFoundError(name="onnxruntime")
        return real(name, *arguments)

    monkeypatch.setattr("builtins.__import__", without)
    monkeypatch.setenv("HELIX_DOC2QUERY_MODEL_DIR", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"doc2query\[t5\]"):
        create_app()
