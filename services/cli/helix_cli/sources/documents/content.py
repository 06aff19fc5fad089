"""The reader of each format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from helix_cli.sources.documents.document import Read
from helix_cli.sources.documents.formats import Format
from helix_cli.sources.documents.html import html_content
from helix_cli.sources.documents.markdown import markdown_content
from helix_cli.sources.documents.pdf import pdf_content
from helix_cli.sources.documents.plain_text import code_content, text_content

READERS: Final[Mapping[Format, Read]] = {
    Format.MARKDOWN: markdown_content,
    Format.TEXT: text_content,
    Format.HTML: html_content,
    Format.PDF: pdf_content,
    Format.CODE: code_content,
}
