"""What importing LanceDB through `engine` brings with it."""

import subprocess
import sys

import pytest

from helix_shared.artifacts.vectors.engine import CATALOG_CLIENT, lancedb

IMPORTED = f"""
import sys
{{statement}}
print(sum(name.partition(".")[0] == "{CATALOG_CLIENT}" for name in sys.modules))
import overrides, {CATALOG_CLIENT}.models
print(overrides.override.__module__, hasattr({CATALOG_CLIENT}.models.ListTablesRequest, "model_fields"))
"""


@pytest.mark.parametrize(
    ("statement", "fewest", "most"),
    [("import helix_shared.artifacts.vectors.engine", 0, 0), ("import lancedb", 100, 1_000)],
)
def test_an_import_through_engine_loads_no_client_of_catalogs(statement: str, fewest: int, most: int) -> None:
    """The second case is the control: LanceDB alone loads hundreds of modules. Both leave them importable."""
    command = [sys.executable, "-c", IMPORTED.replace("{statement}", statement)]
    count, left = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert fewest <= int(count) <= most
    assert left == "overrides.overrides True"


def test_a_class_of_that_client_says_why_it_cannot_be_used() -> None:
    """A later version of LanceDB might need one; the message names the place of the change."""
    if hasattr(lancedb.db.ListTablesResponse, "model_fields"):
        pytest.skip("another test has imported LanceDB before")
    with pytest.raises(NotImplementedError, match=r"vectors\.engine imports LanceDB without"):
        lancedb.db.ListTablesResponse(tables=[])
