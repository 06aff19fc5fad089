import threading
from collections.abc import Iterator

import pytest


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Ends searches that hang; set after the test, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()
