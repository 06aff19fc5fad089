"""Models whose tokenizer is that of XLM-R: SentencePiece pieces, several scripts, `<s>` around a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from helix_cli.model_build.description import Description
from helix_cli.model_build.importing import Origin, import_folder
from helix_shared.encoders.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

*SENTENCES, QUESTION = (Path(__file__).parent / "multilingual.txt").read_text(encoding="utf-8").splitlines()
pytestmark = pytest.mark.long

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def _xlmr() -> Tokenizer:
    """A tokenizer of the form of XLM-R's tokenizer.json, trained on the sentences."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" {2,}", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=list(SPECIAL), show_progress=False, unk_token=SPECIAL[3]
    )
    tokenizer.train_from_iterator(SENTENCES * 20, trainer)
    ends = [(one, tokenizer.token_to_id(one)) for one in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ends
    )
    return tokenizer


@pytest.fixture(scope="module")
def encoder(
    tmp_path_factory: pytest.TempPathFactory, encoder_folder: Callable[..., Path]
) -> Iterator[Encoder]:
    """An imported model with such a tokenizer."""
    root = tmp_path_factory.mktemp("multilingual")
    description = Description(
        pooling="mean", max_tokens=96, query_prefix="query: ", passage_prefix="passage: "
    )
    folder = encoder_folder(root / "given", description, tokenizer=_xlmr())
    with Encoder.load(import_folder(folder, root, Origin("many", "a test"), existing="refuse")) as loaded:
        yield loaded


@pytest.mark.parametrize("text", SENTENCES)
def test_texts_of_any_script_have_vectors_and_codes(encoder: Encoder, text: str) -> None:
    """One code a piece of a word or number; prefix, punctuation and the ends of the text have none."""
    vector, codes = encoder.embed_with_codes(text)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    pieces = _xlmr().encode(text, add_special_tokens=False).tokens
    words = [piece for piece in pieces if any(map(str.isalnum, piece))]
    assert len(codes) == len(words)
    assert encoder.count_tokens(text) == len(pieces)


def test_every_code_of_a_memory_belongs_to_a_word_of_it(encoder: Encoder) -> None:
    """What an explanation shows: the characters of the word, without the space before it."""
    for text in SENTENCES:
        _, codes = encoder.embed_with_codes(text)
        spans = encoder.coded_words(text, len(codes))
        found = [text[span[0] : span[1]] for span in spans if span is not None]
        assert len(found) == len(codes)
        assert all(word and word == word.strip() for word in found), found


def test_words_of_a_question_are_those_of_its_text(encoder: Encoder) -> None:
    """The query prefix is not among them."""
    asked = encoder.embed_query_tokens(QUESTION)
    words = {QUESTION[start:end] for start, end in asked.words.tolist()}
    assert "Lyon" in {word.strip("?,") for word in words}
    assert not any("query" in word for word in words)
    assert all(word == word.strip() for word in words)
