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


def test_a_table_of_a_pdf_file_is_read_in_the_order_in_which_it_is_written(pdf: Callable[..., bytes]) -> None:
    """Row by row each row is a line; column by column the rows are lost, which 0045 states as a limit."""
    right, back = "100 0 Td", "-100 -14 Td"
    rows = f"(City) Tj {right} (Opens) Tj {back} (Ghent) Tj {right} (Mon) Tj"
    columns = "(City) Tj 0 -14 Td (Ghent) Tj 100 14 Td (Opens) Tj 0 -14 Td (Mon) Tj"
    found = []
    for order in (rows, columns):
        file = pdf("", stream=f"BT /F1 12 Tf 72 720 Td {order} ET".encode())
        found += reader.pdf_pages(base64.b64encode(file).decode())
    assert found[0] == "City Opens\nGhent Mon"
    assert "Ghent Mon" not in found[1]
