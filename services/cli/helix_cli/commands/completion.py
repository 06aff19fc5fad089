"""What a shell completes as values of options: read from files of this machine, so nothing is waited for.

No file lists the tenants of a home, so only those are offered that `HELIX_TENANT` or the users of a secured
home name.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_memory.vocabulary.memory_types import MEMORY_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

PROFILES: Final = "helix_query"
"""Package with the ranking profiles; it is found, not imported."""
PROFILE_FOLDERS: Final = ("profile", "profile/recipes")
OWN_PROFILES: Final = "HELIX_QUERY_PROFILES_DIR"
TENANT_VARIABLE: Final = "HELIX_TENANT"


def memory_types(incomplete: str) -> list[str]:
    """Memory types that begin so."""
    return _beginning(incomplete, MEMORY_TYPES)


def ranking_profiles(incomplete: str) -> list[str]:
    """Ranking profiles of the package, and of the operator's folder, that begin so."""
    found = find_spec(PROFILES)
    packages = (found.submodule_search_locations or []) if found is not None else []
    folders = [Path(package, folder) for package in packages for folder in PROFILE_FOLDERS]
    if own := os.environ.get(OWN_PROFILES):
        folders.append(Path(own))
    return _beginning(incomplete, (file.stem for folder in folders for file in sorted(folder.glob("*.toml"))))


def tenants(incomplete: str) -> list[str]:
    """Tenants that this machine names, as far as they begin so."""
    from helix_cli.security.folder import SecurityFolder  # noqa: PLC0415  only a completion needs it
    from helix_memory.transport.credentials import TENANT_USER  # noqa: PLC0415  as above
    from helix_shared.settings import helix_home  # noqa: PLC0415  as above

    users = SecurityFolder.of(helix_home()).nats_file("").glob(f"{TENANT_USER}*")
    named = sorted(user.name.removeprefix(TENANT_USER) for user in users)
    return _beginning(incomplete, filter(None, [os.environ.get(TENANT_VARIABLE, ""), *named]))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name.startswith(incomplete)))
