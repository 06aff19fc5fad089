"""Embeddings that are kept in a file."""

from pathlib import Path

import numpy as np
import pytest

from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.kept_embeddings import KeptEmbeddings
from helix_shared.encoders.store import default_model

TEXTS = ("who is on call?", "where is the key?")


@pytest.fixture
def encoder(models_dir: Path) -> Encoder:
    """The default model."""
    return Encoder.load(default_model(models_dir), lanes=1, remembers=False)


def asked(encoder: Encoder, folder: Path, texts: tuple[str, ...], runs: list[str]) -> list[bytes]:
    """Vectors of texts as bytes; `runs` gets the texts that the encoder embedded."""

    class Counting:
        card = encoder.card

        def embed_query(self, text: str) -> np.ndarray:
            runs.append(text)
            return encoder.embed_query(text)

    with KeptEmbeddings(Counting(), folder) as kept:  # type: ignore[arg-type]
        return [kept.embed_query(text).tobytes() for text in texts]


def test_kept_vectors_are_equal_to_the_bit_and_embedded_once(encoder: Encoder, tmp_path: Path) -> None:
    """A text that is new is embedded; one that nobody asks for any more leaves the file."""
    runs: list[str] = []
    first = asked(encoder, tmp_path, TEXTS, runs)
    assert first == [encoder.embed_query(text).tobytes() for text in TEXTS]
    assert asked(encoder, tmp_path, TEXTS, runs) == first
    assert runs == [*TEXTS]
    asked(encoder, tmp_path, (TEXTS[0], "new"), runs)
    asked(encoder, tmp_path, TEXTS, runs)
    assert runs == [*TEXTS, "new", TEXTS[1]]


def test_a_damaged_file_and_a_folder_that_cannot_be_written_only_cost_time(
    encoder: Encoder, tmp_path: Path
) -> None:
    """Any flipped byte is noticed, or changes nothing."""
    first = asked(encoder, tmp_path, TEXTS, [])
    (file,) = tmp_path.glob("examples-*.npz")
    whole = file.read_bytes()
    for place in range(0, len(whole), 41):
        body = bytearray(whole)
        body[place] ^= 0x10
        file.write_bytes(body)
        assert asked(encoder, tmp_path, TEXTS, []) == first
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    assert asked(encoder, blocked, TEXTS, []) == first


def test_an_error_while_texts_are_embedded_leaves_the_file_as_it_was(
    encoder: Encoder, tmp_path: Path
) -> None:
    """The error of the model is the one that is raised, and what was kept is kept."""
    asked(encoder, tmp_path, TEXTS, [])
    (file,) = tmp_path.glob("examples-*.npz")
    whole = file.read_bytes()
    kept = KeptEmbeddings(encoder, tmp_path)
    with pytest.raises(MemoryError), kept:
        raise MemoryError
    assert file.read_bytes() == whole
