"""The members of the workspace, and what each needs by the lock."""

import functools
import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]
MEMBER_FOLDERS = ("proto", "shared", "services/*", "ops/lab")
MEMBERS = {
    tomllib.loads(file.read_text())["project"]["name"]: file.parent
    for pattern in MEMBER_FOLDERS
    for file in sorted(ROOT.glob(f"{pattern}/pyproject.toml"))
}


def _closure_tool() -> ModuleType:
    """ops/closure.py, which says what of the lock a member needs."""
    spec = importlib.util.spec_from_file_location("closure", ROOT / "ops/closure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["closure"] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


CLOSURE = _closure_tool()
LOCK = CLOSURE.read_lock((ROOT / "requirements.lock").read_text())


@functools.cache
def locked(member: str) -> tuple[list[str], list[str]]:
    """Members and packages that make up `member` by the lock."""
    needed, direct = CLOSURE.members_of(member, CLOSURE.read_members(ROOT))
    return needed, CLOSURE.closure(direct, LOCK)
