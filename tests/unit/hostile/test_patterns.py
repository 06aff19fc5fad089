"""Every regular expression of the services, found by walking their modules."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser
from types import ModuleType
from typing import Any, Final

import pytest

from tests.unit.linear_time import Linear

from .conftest import SHAPES

PACKAGES: Final = (
    "helix_memory", "helix_shared", "helix_ingest", "helix_doc2query", "helix_kg", "helix_consolidation",
    "helix_query", "helix_deep", "helix_cli",
)  # fmt: skip
ADAPTERS: Final = "helix_memory.adapters."
WALKING: Final = frozenset({"search", "findall", "finditer", "sub", "subn", "split"})
METHODS: Final = WALKING | {"match", "fullmatch"}
DEEPEST: Final = 6
CHARACTERS: Final = 10_000
FLOOR_SECONDS: Final = 0.00625
"""A quadratic pattern takes ten times as long."""

Pattern = re.Pattern[str]
Use = Callable[[str], object]


def modules() -> list[ModuleType]:
    """Every module of the packages but their command lines' entry points, which run when imported."""
    found = []
    for package in map(importlib.import_module, PACKAGES):
        names = [info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        found += [module for name in names if not name.endswith("__main__") for module in imported(name)]
    return found


def imported(name: str) -> list[ModuleType]:
    """A module; none if it adapts a framework that is not installed here."""
    try:
        return [importlib.import_module(name)]
    except ImportError:
        if not name.startswith(ADAPTERS):
            raise
        return []


def held(value: object, depth: int = 0) -> Iterator[Pattern]:
    """The patterns in a value: itself, in containers, in fields and class attributes of our own types."""
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth == DEEPEST:
        return
    elif isinstance(value, dict):
        for item in (*value.keys(), *value.values()):
            yield from held(item, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from held(item, depth + 1)
    elif (value if isinstance(value, type) else type(value)).__module__.split(".")[0] in PACKAGES:
        slots = [getattr(value, name, None) for name in getattr(value, "__slots__", ())]
        for item in (*slots, *getattr(value, "__dict__", {}).values()):
            yield from held(item, depth + 1)


class Uses:
    """Which methods of which pattern the code calls."""

    def __init__(self) -> None:
        self.names: dict[Pattern, str] = {}
        self.methods: dict[Pattern, set[str]] = defaultdict(set)
        self._held: dict[int, list[Pattern]] = {}
        for module in modules():
            self._read(module)

    def walks(self, pattern: Pattern) -> bool:
        """Whether a text is walked from match to match or from place to place."""
        return bool(self._methods(pattern) & WALKING)

    def anchored(self, pattern: Pattern) -> list[Use]:
        """What is asked of the beginning of a text, or of all of it."""
        return [getattr(pattern, name) for name in sorted(self._methods(pattern) - WALKING)]

    def _methods(self, pattern: Pattern) -> set[str]:
        """A pattern whose use is not found is tried with every method."""
        return self.methods[pattern] or set(METHODS)

    def _read(self, module: ModuleType) -> None:
        plain: dict[str, Pattern] = {}
        deep: set[Pattern] = set()
        for name, value in vars(module).items():
            # many modules import the same value
            if id(value) not in self._held:
                self._held[id(value)] = list(held(value))
            for pattern in self._held[id(value)]:
                self.names.setdefault(pattern, f"{module.__name__}.{name}")
                if pattern is value:
                    plain[name] = pattern
                else:
                    deep.add(pattern)
        through_others: set[str] = set()
        bases = set()
        tree = ast.parse(inspect.getsource(module) if inspect.getsourcefile(module) else "")
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                if isinstance(node.value, ast.Name) and node.value.id in plain:
                    self.methods[plain[node.value.id]].add(node.attr)
                    bases.add(id(node.value))
                elif node.attr != "split":  # nearly always that of a string
                    through_others.add(node.attr)
        handed_on = {
            plain[node.id]
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and node.id in plain and isinstance(node.ctx, ast.Load)
            if id(node) not in bases
        }
        for pattern in deep | handed_on:
            self.methods[pattern] |= through_others


@pytest.fixture(scope="module")
def uses() -> Uses:
    """All patterns; not found when this file is collected, which each process of the tests does."""
    return Uses()


def test_the_walk_finds_the_patterns(uses: Uses) -> None:
    """Patterns in modules, in tuples of rules, in dictionaries, and in fields of our own classes."""
    written = set(uses.names.values())
    assert {
        "helix_ingest.extraction.classify._CODE",
        "helix_doc2query.predict.RULES",
        "helix_query.recall.routing.multi_hop._SIGNS",
        "helix_shared.naming.code._PHRASES",
        "helix_shared.timex.rules.counted.TAIL_RULES",
        "helix_cli.sources.documents.markdown._HEADING",
    } <= written
    assert len(uses.names) > 200


@pytest.mark.parametrize("package", PACKAGES)
def test_patterns_take_linear_time_on_hostile_text(package: str, uses: Uses, mixtures: Any) -> None:
    """10,000 characters of every shape, through every method the code calls."""
    linear = Linear(floor_seconds=FLOOR_SECONDS, most_seconds=4.0)
    find = partial(linear.failures, characters=CHARACTERS)
    failures = [
        f"{name} {pattern.pattern[:60]!r} {failure}"
        for pattern, name in uses.names.items()
        if name.split(".")[0] == package
        for failure in (
            *(find(_walk(pattern), texts=mixtures) if uses.walks(pattern) else ()),
            *(line for use in uses.anchored(pattern) for line in find(use, texts=SHAPES)),
        )
    ]
    assert not failures, "\n".join(failures)


def _walk(pattern: Pattern) -> Use:
    """All that a search, a substitution or a split of the text could have to look at."""
    return lambda text: sum(1 for _ in pattern.finditer(text))


def test_no_possessive_group_fails_midway(uses: Uses) -> None:
    """Before Python 3.11.5 such a group does not go back to where its last repetition began (gh-106052)."""
    found = [name for pattern, name in uses.names.items() if _fails_midway(parser.parse(pattern.pattern))]
    assert not found, f"make the parts possessive, not the group: {found}"
    assert _fails_midway(parser.parse(r"(?:\w*\.)*+\w"))


def _fails_midway(items: Any) -> bool:
    """Whether a repetition of a possessive group can match a repeat and then fail."""
    return any(
        (code is constants.POSSESSIVE_REPEAT and any(_repeats(one) for one in list(value[2])[:-1]))
        or any(_fails_midway(part) for part in _parts(value))
        for code, value in items
    )


def _repeats(item: Any) -> bool:
    code, value = item
    kinds = (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT)
    return code in kinds or any(_repeats(inner) for part in _parts(value) for inner in part)


def _parts(value: Any) -> Iterator[Any]:
    """The sequences of items that the argument of a regular expression's item holds."""
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _parts(one)


def test_no_function_compiles_a_pattern() -> None:
    """A pattern made inside a function is found by no walk.

    A function may make one when the module itself is all that calls it, as for a table of rules.
    """
    hidden = [f"{module.__name__}:{line}" for module in modules() for line in _compiled_in_functions(module)]
    assert not hidden, f"make these at module level: {hidden}"


def _compiled_in_functions(module: ModuleType) -> list[int]:
    if vars(module).get("re") is not re:
        return []
    tree = ast.parse(inspect.getsource(module))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    functions = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    inside = {id(node) for function in functions for node in ast.walk(function) if node is not function}
    called_inside = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) in inside}
    return [
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if _uses_re(node) and not _makes_rules(function, called_inside)
    ]


def _uses_re(node: ast.AST) -> bool:
    """`re.compile(...)`, `re.search(...)` and so on; `re.escape` compiles nothing."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in METHODS | {"compile"}
    )


def _makes_rules(function: ast.AST, called_inside: set[str]) -> bool:
    return isinstance(function, ast.FunctionDef) and function.name not in called_inside
