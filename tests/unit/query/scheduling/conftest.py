from collections.abc import Iterator

import pytest

from .held import Held


@pytest.fixture
def held() -> Iterator[Held]:
    """An executor of one worker; closed at the end, with the gate open."""
    made = Held()
    yield made
    made.gate.set()
    made.executor.close()
