"""Runs that nothing disturbs, to compare with; one for each number of events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helix_cli.rebuilding.parity import columns
from tests.faults.crashes.comparing import AT_ANOTHER_TIME, undisturbed_run


@pytest.fixture
def _compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "OF_ITS_OWN", AT_ANOTHER_TIME)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Callable[[int], Path]:
    """The home of an undisturbed run of so many events."""
    made: dict[int, Path] = {}

    def home(events: int) -> Path:
        if events not in made:
            folder = tmp_path_factory.mktemp("undisturbed")
            made[events] = undisturbed_run(folder / "home", models_dir, events)
        return made[events]

    return home


@pytest.fixture
def undisturbed(_compared: None, homes: Callable[[int], Path]) -> Callable[[int], Path]:
    """As `homes`; times of storage are not compared."""
    return homes
