"""The child process of `html_page`: a page on standard input, its title and text as JSON."""

from __future__ import annotations

from selectolax.lexbor import SelectolaxError

from helix_ingest.extraction.documents.html import read_html
from helix_ingest.extraction.documents.limited_process import answer_with
from helix_shared.errors import InvalidInputError


def read(source: bytes) -> dict[str, str]:
    """Title and text of a page, or why it is refused."""
    try:
        title, text = read_html(source.decode("utf-8", "surrogatepass"))
    except InvalidInputError as error:
        return {"refused": error.reason}
    except SelectolaxError as error:
        # the parser reads every page, unless it gets no memory
        raise MemoryError from error
    return {"title": title, "text": text}


if __name__ == "__main__":
    answer_with(read)
