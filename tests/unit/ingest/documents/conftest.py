"""A maker of small PDF files."""

from collections.abc import Callable

import pytest


def make_pdf(*pages: str, dictionary: bytes = b"", stream: bytes | None = None) -> bytes:
    """A PDF file with one line of text per line of each page, or with the given content stream."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for page in pages:
        lines = "".join(f"({line}) Tj 0 -14 Td\n" for line in page.splitlines())
        content = stream if stream is not None else f"BT /F1 12 Tf 72 720 Td\n{lines}ET".encode()
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (len(objects) + 2)
        )
        objects.append(
            b"<< /Length %d %s >>\nstream\n" % (len(content), dictionary) + content + b"\nendstream"
        )
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>".encode()
    file, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(file))
        file += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(file))
    return file + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer


@pytest.fixture
def pdf() -> Callable[..., bytes]:
    """The maker."""
    return make_pdf
