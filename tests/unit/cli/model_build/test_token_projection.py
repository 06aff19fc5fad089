"""The token projection of a model: fitted from shipped texts, the same every time, for any size of state."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helix_cli.model_build.default_model import ensure_default_model
from helix_cli.model_build.projection_texts import PROJECTION_TEXTS
from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_cli.model_build.token_projection import coded_ids_of, complete, fit
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import PROJECTION_FILE, TOKENIZER_FILE, load_card, read_card, write_card
from helix_shared.encoders.store import default_model
from helix_shared.encoders.token_codes import CODE_BITS, TokenProjection
from helix_shared.errors import CorruptArtifactError
from helix_shared.machine.processes import SINGLE_THREADED


def of_an_older_release(models_dir: Path, root: Path) -> Path:
    """The default model as a release without token codes left it under `root`."""
    built = default_model(models_dir)
    folder = root / built.name
    shutil.copytree(built, folder)
    (folder / PROJECTION_FILE).unlink()
    card = read_card(folder)
    files = {path: digest for path, digest in card.files.items() if path != PROJECTION_FILE}
    write_card(folder, card.model_copy(update={"files": files}))
    return folder


def test_an_older_model_is_completed(models_dir: Path, tmp_path: Path) -> None:
    """By the call that builds the default model; the vectors stay, and a second call changes nothing."""
    folder = of_an_older_release(models_dir, tmp_path)
    with Encoder.load(folder, makes_codes=False) as older:
        vector = older.embed("The ferry leaves at nine.")
    assert ensure_default_model(tmp_path) == folder
    assert load_card(folder).makes_codes
    with Encoder.load(folder) as completed:
        assert np.array_equal(completed.embed_with_codes("The ferry leaves at nine.")[0], vector)
    before = (folder / PROJECTION_FILE).stat().st_mtime_ns
    assert complete(folder) == folder
    assert ensure_default_model(tmp_path) == folder
    assert (folder / PROJECTION_FILE).stat().st_mtime_ns == before
    assert {path.name for path in tmp_path.iterdir()} == {".lock", folder.name}


@pytest.mark.long
def test_the_number_of_threads_does_not_matter(models_dir: Path, tmp_path: Path) -> None:
    """Completed in processes whose BLAS has one thread or several, a model has the same checksum."""
    command = [sys.executable, "-c", "import sys, pathlib, helix_cli.model_build.token_projection as m\n"]
    command[2] += "m.complete(pathlib.Path(sys.argv[1]))"
    checksums = set()
    for threads in ("1", "2", "3"):
        folder = of_an_older_release(models_dir, tmp_path / threads)
        environment = os.environ | dict.fromkeys(SINGLE_THREADED, threads)
        subprocess.run([*command, str(folder)], env=environment, check=True)
        checksums.add(load_card(folder).checksum)
    assert len(checksums) == 1


def test_a_damaged_model_is_not_completed(models_dir: Path, tmp_path: Path) -> None:
    """The error names the file; the folder stays as it is."""
    folder = of_an_older_release(models_dir, tmp_path)
    (folder / TOKENIZER_FILE).write_text("{}")
    with pytest.raises(CorruptArtifactError, match=TOKENIZER_FILE):
        ensure_default_model(tmp_path)
    assert not (folder / PROJECTION_FILE).exists()


def test_words_and_numbers_are_coded_and_nothing_else(models_dir: Path) -> None:
    """Of any script; also pieces within words, but no special tokens, punctuation or symbols."""
    folder = default_model(models_dir)
    coded = coded_ids_of(folder / TOKENIZER_FILE)
    found = TokenProjection.load(folder / PROJECTION_FILE)
    assert np.array_equal(found.coded_ids, coded)
    with Encoder.load(folder) as encoder:
        for text, count in (("ferry", 1), ("7", 1), ("?!", 0), ("$ , .", 0), ("会", 1)):
            assert len(encoder.embed_with_codes(text)[1]) == count, text
        assert len(encoder.embed_with_codes("unbelievably")[1]) >= 2


@pytest.mark.parametrize(("dimensions", "states"), [(8, 500), (CODE_BITS, 60), (200, 900), (384, 20)])
def test_any_size_of_state_has_a_projection(dimensions: int, states: int) -> None:
    """Fewer dimensions than bits, and fewer states than dimensions; the same twice."""
    drawn = np.random.default_rng(5).standard_normal((states, dimensions)).astype(np.float32) + 0.5
    centre, matrix = fit(drawn)
    assert (centre.shape, matrix.shape) == ((dimensions,), (dimensions, CODE_BITS))
    assert (centre.dtype, matrix.dtype) == (np.float32, np.float32)
    assert np.isfinite(matrix).all()
    for array, again in zip((centre, matrix), fit(drawn.copy()), strict=True):
        assert array.tobytes() == again.tobytes()


def test_signs_keep_the_order_of_products(models_dir: Path) -> None:
    """Products of projected numbers with signs follow those of the states, on texts it was not fitted on."""
    texts = [
        "The clinic moved Nadia's appointment to the ninth of March.",
        "Our carpenter uses ash for the stairs and larch outside.",
        "kubectl get pods shows three restarts of the importer",
        "She would rather learn Portuguese than Italian.",
    ]
    assert not set(texts) & {*SAMPLE_TEXTS, *PROJECTION_TEXTS}
    folder = default_model(models_dir)
    projection = TokenProjection.load(folder / PROJECTION_FILE)
    with Encoder.load(folder) as encoder:
        states = np.concatenate([encoder._session.states(encoder._tokens.ids(text))[1:-1] for text in texts])
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    exact = (unit - projection.centre) @ (unit - projection.centre).T
    signs = np.unpackbits(projection.codes(states), axis=1).astype(np.float32) * 2 - 1
    estimated = projection.queries(states) @ signs.T
    others = ~np.eye(len(states), dtype=bool)
    assert np.corrcoef(exact[others], estimated[others])[0, 1] > 0.85
