"""The child process that reads PDF files keeps its limits."""

import base64
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from helix_ingest.extraction.documents import limited
from helix_ingest.extraction.documents import pdf as reader
from helix_shared.errors import InvalidInputError, TemporaryError


@pytest.fixture
def slow_file(pdf: Callable[..., bytes]) -> str:
    """A page of a million drawing operators in 20 kB."""
    stream = zlib.compress(b"BT /F1 9 Tf " + b"(a) Tj 0 -1 Td\n" * 1_000_000 + b"ET")
    file = pdf("x", dictionary=b"/Filter /FlateDecode", stream=stream)
    return base64.b64encode(file).decode()


def test_file_that_takes_too_long_is_refused(slow_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child ends itself."""
    monkeypatch.setattr(reader, "READER", replace(reader.READER, cpu_seconds=2))
    with pytest.raises(InvalidInputError, match="body_base64: takes more than 2 s of CPU time"):
        reader.pdf_pages(slow_file)


def test_file_that_needs_too_much_memory_is_refused(slow_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the limit."""
    monkeypatch.setattr(limited, "MEMORY_BYTES", 128 * 2**20)
    with pytest.raises(InvalidInputError, match="body_base64: needs more than 128 MiB of memory"):
        reader.pdf_pages(slow_file)


def test_reader_that_cannot_start_is_not_the_fault_of_the_file(
    pdf: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event is tried again."""
    monkeypatch.setattr(reader, "READER", replace(reader.READER, module="helix_ingest.no_such_module"))
    with pytest.raises(TemporaryError, match="no_such_module"):
        reader.pdf_pages(base64.b64encode(pdf("x")).decode())
