"""The model of the data folder: memories are embedded with the model of the generation that is there.

A writer refuses vectors of another model, so a better model that is only installed changes nothing;
`helix models use` changes it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from helix_cli.model_build.default_model import ensure_default_model
from helix_cli.model_build.publish import put_back
from helix_shared.artifacts.generation.manifest import ModelIdentity, check_format, current_manifest
from helix_shared.encoders.model import ModelCard, read_card
from helix_shared.encoders.store import choose_model, default_model, folder_with_checksum
from helix_shared.errors import NotFoundError


def model_of(data: Path) -> ModelIdentity | None:
    """The model of the current generation; None before the first.

    Raises:
        CorruptArtifactError: CURRENT or the manifest cannot be read, or it is of another format.
    """
    manifest = current_manifest(data)
    if manifest is None:
        return None
    check_format({"format_version": manifest.format_version})
    return manifest.model


def follow_generation(data: Path, models: Path) -> str:
    """Make the model of the current generation the default, if it is installed and another one is.

    Returns its name; empty where nothing changed.

    Raises: as `model_of`.
    """
    wanted = model_of(data)
    folder = None if wanted is None else folder_with_checksum(models, wanted.checksum)
    if folder is None:
        return ""
    try:
        if default_model(models) == folder:
            return ""
    except NotFoundError:
        pass
    choose_model(models, folder.name)
    return folder.name


def ready_model(data: Path, models: Path, *, say: Callable[[str], None]) -> ModelCard:
    """The model that memories are embedded with; it is built or completed if it has to be.

    Raises:
        PermanentError: there is none, and none can be built.
    """
    put_back(models)
    if followed := follow_generation(data, models):
        say(f"the data folder has vectors of {followed}: memories are embedded with it")
    try:
        if not read_card(default_model(models)).makes_codes:
            say("the model is of an older release: completing it")
    except NotFoundError:
        say("there is no model yet: building one")
    return read_card(ensure_default_model(models))
