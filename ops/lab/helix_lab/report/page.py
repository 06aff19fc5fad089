"""The report as one page that needs nothing else: the Markdown rendered, the charts inside.

HTML in the Markdown stays text and only given charts become images, so no name in a report can run
or load anything; the page says so to the browser too. `write` stores it.
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render_page(markdown: str, *, images: Mapping[str, bytes], folded: Collection[str]) -> str:
    """An HTML document.

    `images` are PNG files by their link in `markdown`; sections whose title is in `folded` are closed
    until the reader opens them.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    body, contents = _sections(tokens, folded)
    for token in tokens:
        for child in token.children or ():
            if child.type == "image":
                child.attrSet("src", _data_uri(images.get(str(child.attrGet("src")))))
    rendered = parser.renderer.render(body, parser.options, {})
    style = files("helix_lab.report").joinpath("page.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Evaluation report</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<nav>{contents}</nav>\n<main>\n{rendered}</main>\n</body>\n</html>\n"
    )


def _data_uri(image: bytes | None) -> str:
    return "data:image/png;base64," + b64encode(image or b"").decode("ascii")


def _sections(tokens: Sequence[Token], folded: Collection[str]) -> tuple[list[Token], str]:
    """Tokens with ids at the sections, folds and scrolling tables; links to the sections."""
    made: list[Token] = []
    links: list[str] = []
    closing = ""
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and token.tag == "h2":
            title = following.content if following else ""
            anchor = f"section-{len(links) + 1}"
            links.append(f'<a href="#{anchor}">{html.escape(title)}</a>')
            token.attrSet("id", anchor)
            made.append(_markup(closing + ("<details><summary>" if title in folded else "")))
            closing = "</details>" if title in folded else ""
        if token.type == "table_open":
            made.append(_markup('<div class="table">'))
        made.append(token)
        if token.type == "table_close":
            made.append(_markup("</div>"))
        if token.type == "heading_close" and token.tag == "h2" and closing:
            made.append(_markup("</summary>"))
    return [*made, _markup(closing)], "\n".join(links)


def _markup(content: str) -> Token:
    return Token("html_block", "", 0, content=content)
