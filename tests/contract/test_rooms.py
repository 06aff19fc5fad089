"""Rooms are small, imports inside a member have no circles, and those of the query service no long chain."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LEVELS = 12
"""Modules on the longest chain of imports inside the query service."""
MOST_FILES, MOST_LINES = 15, 300
"""Of a folder, without `__init__.py`, and of a file."""
PACKAGES = sorted(
    marker.parent
    for pattern in ("proto", "shared", "services/*", "ops/lab")
    for marker in ROOT.glob(f"{pattern}/helix_*/__init__.py")
)


def imports_of(package: Path) -> dict[str, set[str]]:
    """Modules of `package` that each of its modules imports, anywhere in it, also for type checking alone."""
    files = {
        ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): file
        for file in package.rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for module, file in files.items():
        names = set[str]()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    submodule = f"{node.module}.{alias.name}"
                    names.add(submodule if submodule in files else node.module)
        found[module] = (names & files.keys()) - {module}
    return found


def longest_chain(package: Path) -> list[str]:
    """The longest chain of imports; fails on a circle."""
    imports = imports_of(package)
    open_chain: list[str] = []

    @cache
    def chain(module: str) -> tuple[str, ...]:
        assert module not in open_chain, f"circle of imports: {' -> '.join([*open_chain, module])}"
        open_chain.append(module)
        below = max((chain(one) for one in sorted(imports[module])), key=len, default=())
        open_chain.pop()
        return (module, *below)

    return list(max(map(chain, sorted(imports)), key=len))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_no_imports_go_in_a_circle(package: Path) -> None:
    """Imports for type checking count: a reader follows them as well."""
    assert longest_chain(package)


def test_chains_of_imports_in_the_query_service_are_short() -> None:
    """From the entry point to a constant of a ranking profile."""
    chain = longest_chain(ROOT / "services" / "query" / "helix_query")
    assert len(chain) <= MOST_LEVELS, " -> ".join(chain)


def test_a_circle_would_be_noticed(tmp_path: Path) -> None:
    """Two modules that need each other, one of them for a type."""
    package = tmp_path / "helix_round"
    package.mkdir()
    (package / "one.py").write_text("import helix_round.two\n")
    (package / "two.py").write_text("if False:\n    from helix_round import one\n")
    with pytest.raises(AssertionError, match="circle of imports"):
        longest_chain(package)


def test_rooms_and_files_are_small() -> None:
    """Those of tests are left out, and what is generated from protobuf, which is as long as its contract."""
    folders = [ROOT / name for name in ("proto", "shared", "services", "ops", "docs")]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    files = [file for file in files if not file.stem.endswith(("_pb2", "_pb2_grpc"))]
    rooms = Counter(file.parent for file in files if file.name != "__init__.py")
    assert {room: count for room, count in rooms.items() if count > MOST_FILES} == {}
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {file: count for file, count in lines.items() if count > MOST_LINES} == {}
