"""The default model: found under the folder of the models and completed, or built there."""

from __future__ import annotations

from pathlib import Path

from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import chosen_model, default_model
from helix_shared.errors import NotFoundError


def ensure_default_model(root: Path) -> Path:
    """Find the default model under `root`; build all-MiniLM-L6-v2 when there is none yet.

    A model that an older release made gets what it lacks. Both take seconds. When several processes call this
    at once, one builds and the others wait.

    Raises:
        NotFoundError: there is none and the package with the weights is not installed, or the chosen model
            is gone.
        PermanentError: there is none and the build failed its check.
        CorruptArtifactError: the model lacks something, and a file of it is missing or changed.
    """
    try:
        folder = default_model(root)
    except NotFoundError:
        if chosen_model(root):
            raise
        from helix_cli.model_build.minilm import build_minilm  # noqa: PLC0415  onnx is slow to import

        return build_minilm(root)
    if read_card(folder).makes_codes:
        return folder
    from helix_cli.model_build.token_projection import complete  # noqa: PLC0415  onnxruntime, likewise

    return complete(folder)
