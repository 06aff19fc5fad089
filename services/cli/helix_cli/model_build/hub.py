"""Fetches a published model over HTTP at its pinned revision and checks the sha256 of every file.

Without a network, the error says which address was tried and what to do instead. The fetched folder is
imported like any other (`importing`). Uses the standard library only.
"""

from __future__ import annotations

import hashlib
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from helix_cli.model_build.description import write_description
from helix_cli.model_build.importing import Origin, import_folder
from helix_cli.model_build.published import PUBLISHED, HubFile, HubModel
from helix_cli.model_build.token_projection import complete
from helix_shared.encoders.model import load_card
from helix_shared.encoders.store import MINILM
from helix_shared.errors import (
    CorruptArtifactError,
    InvalidInputError,
    NotFoundError,
    PermanentError,
    TemporaryError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

HUB = "https://huggingface.co"
TIMEOUT_SECONDS = 30.0
RETRY_SECONDS = 60.0
CHUNK_BYTES = 1 << 20
# Status codes of temporary failures.
LATER = {408, 425, 429, 500, 502, 503, 504}


def pull(
    name: str,
    root: Path,
    *,
    hub: str = HUB,
    timeout_seconds: float = TIMEOUT_SECONDS,
    replace: bool = False,
    published: Mapping[str, HubModel] = PUBLISHED,
) -> Path:
    """Fetch the model `name` from `hub`, import it into `root` and return its folder.

    Keeps an existing model. `timeout_seconds` is the longest silence of the hub.

    Raises:
        NotFoundError: there is no published model of this name.
        TemporaryError: the hub cannot be reached or fails temporarily.
        PermanentError: the hub refuses.
        CorruptArtifactError: a file differs from its pinned sha256, or the existing model is damaged.
    """
    model = published.get(name)
    if model is None:
        hint = "run `helix models build`" if name == MINILM else "use `helix models import DIR` for others"
        raise NotFoundError(f"no model {name!r} to pull (published: {', '.join(published)}): {hint}")
    if not hub.startswith(("http://", "https://")):
        raise InvalidInputError("hub", f"must be an http or https address, is {hub!r}")
    if not replace and (root / name).exists():
        load_card(root / name)
        return complete(root / name)
    with TemporaryDirectory(prefix="helix-pull-") as scratch:
        for file in model.files:
            url = f"{hub.rstrip('/')}/{model.repository}/resolve/{model.revision}/{file.path}"
            _fetch(url, file, Path(scratch) / file.path, name=name, timeout_seconds=timeout_seconds)
        write_description(Path(scratch), model.description)
        origin = Origin(name, f"{model.repository} at {model.revision}")
        return import_folder(Path(scratch), root, origin, existing="replace" if replace else "keep")


def _fetch(url: str, file: HubFile, target: Path, *, name: str, timeout_seconds: float) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # --name matters: the name selects the default model and the description in `published`
    instead = f"fetch the repository elsewhere and run `helix models import DIR --name {name}`"
    try:
        digest = _download(url, target, limit_bytes=file.size_bytes, timeout_seconds=timeout_seconds)
    except HTTPError as error:
        if error.code in LATER:
            message = f"hub is busy: {url}: status {error.code}: try again or {instead}"
            raise TemporaryError(message, delay_seconds=RETRY_SECONDS) from error
        raise PermanentError(f"hub refuses: {url}: status {error.code}: {instead}") from error
    except (OSError, HTTPException) as error:
        message = f"hub cannot be reached: {url}: {getattr(error, 'reason', error)}: try again or {instead}"
        raise TemporaryError(message, delay_seconds=RETRY_SECONDS) from error
    if digest != file.sha256:
        raise CorruptArtifactError(
            f"hub sent other bytes: {url}: sha256 {digest}, not {file.sha256}: {instead}"
        )


def _download(url: str, target: Path, *, limit_bytes: int, timeout_seconds: float) -> str:
    """Stream `url` to `target`, at most one byte more than `limit_bytes`, and return the sha256."""
    digest, left = hashlib.sha256(), limit_bytes + 1
    request = Request(url, headers={"User-Agent": "helix"})  # noqa: S310 - `pull` checked the scheme
    with urlopen(request, timeout=timeout_seconds) as reply, target.open("wb") as stream:  # noqa: S310 - likewise
        while chunk := reply.read(min(CHUNK_BYTES, left)):
            stream.write(chunk)
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()
