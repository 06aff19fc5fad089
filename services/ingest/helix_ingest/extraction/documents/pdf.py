"""Texts of the pages of a PDF file; a child process with limits of time and memory reads it.

A file of a few kilobytes can decompress to gigabytes or keep a parser busy for hours. The limits count CPU
time, so that the same file gives the same result on a busy machine.
"""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from typing import Final

from helix_shared.errors import InvalidInputError, TemporaryError

FIELD: Final = "body_base64"
CPU_SECONDS: Final = 20
MEMORY_BYTES: Final = 1024**3
WALL_SECONDS: Final = 120
READER: Final = "helix_ingest.extraction.documents.pdf_process"


def pdf_pages(body_base64: str) -> list[str]:
    """Text of each page in order; "" for a page without text.

    Raises:
        InvalidInputError: the file is broken or encrypted, breaks a limit, or has no text.
        TemporaryError: the machine is too busy to read it, or the reader cannot be started.
    """
    source = base64.b64decode(body_base64, validate=True)
    if b"%PDF-" not in source[:1024]:
        raise InvalidInputError(FIELD, "is no PDF file")
    command = [sys.executable, "-I", "-m", READER, str(CPU_SECONDS), str(MEMORY_BYTES)]
    try:
        done = subprocess.run(  # noqa: S603  the command has no part of the document
            command, input=source, capture_output=True, timeout=WALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TemporaryError(f"the PDF file was not read in {WALL_SECONDS} s") from None
    if done.returncode == -signal.SIGXCPU:
        raise InvalidInputError(FIELD, f"takes more than {CPU_SECONDS} s of CPU time to read")
    if done.returncode == -signal.SIGSEGV:
        raise InvalidInputError(FIELD, "makes the reader of PDF files crash")
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise TemporaryError(f"the reader of PDF files ended with status {done.returncode}: {last}")
    answer = json.loads(done.stdout)
    if "refused" in answer:
        raise InvalidInputError(FIELD, answer["refused"])
    pages: list[str] = answer["pages"]
    if not any(page.strip() for page in pages):
        raise InvalidInputError(FIELD, "holds no text; recognise the text of scanned pages first")
    return pages
