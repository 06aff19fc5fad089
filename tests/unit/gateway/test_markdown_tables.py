"""Tables of Markdown on the pages of the explorer."""

from __future__ import annotations

import pytest

from helix_gateway.explorer.broker import Broker
from helix_gateway.explorer.markdown_tables import with_tables
from helix_gateway.explorer.shown import shown
from helix_memory.client.results import StoredMemory
from tests.unit.gateway.explorers import Letters, Memories, memory
from tests.unit.gateway.gateways import client_of
from tests.unit.linear_time import Linear, Shape, repeated

TABLE = "| when | who |\n|:---:|---:|\n| Monday | Ana & Bo |\n| Friday |"
ROWS = (
    '<thead><tr><th scope="col" class="center"><bdi>when</bdi></th>'
    '<th scope="col" class="right"><bdi>who</bdi></th></tr></thead><tbody>'
    '<tr><td class="center"><bdi>Monday</bdi></td><td class="right"><bdi>Ana &amp; Bo</bdi></td></tr>'
    '<tr><td class="center"><bdi>Friday</bdi></td><td class="right"></td></tr></tbody>'
)


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """NATS is not what these tests are about."""
    for name in ("letters", "letter", "streams"):
        monkeypatch.setattr(Broker, name, getattr(Letters, name))


def table_of(rows: str) -> str:
    """The element of a table with these rows."""
    return f'<div class="wide"><table class="markdown">{rows}</table></div>'


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_table_is_an_element_and_the_text_around_it_stays(line_end: str) -> None:
    """Also what would be other Markdown."""
    text = f"# Rota\n\n**Who** is on:\n\n{TABLE}\n\n- `Bo` <b>swaps</b>\n".replace("\n", line_end)
    assert with_tables(text) == (
        f"<bdi># Rota\n\n**Who** is on:</bdi>{table_of(ROWS)}<bdi>- `Bo` &lt;b&gt;swaps&lt;/b&gt;</bdi>"
    )


def test_what_stands_in_a_cell_is_text() -> None:
    """Markup of any kind, an escaped separator, and what is hidden, which is told as everywhere."""
    html = with_tables("|a|\n|-|\n|<img src=x onerror=alert(1)> **b** [c](javascript:d) e\\|f g\u202eh|")
    assert "<td><bdi>&lt;img src=x onerror=alert(1)&gt; **b** [c](javascript:d) e|f g" in html
    assert '<span class="mark" title="U+202E RIGHT-TO-LEFT OVERRIDE">RLO</span>h' in html


def test_a_table_without_a_header_has_rows_alone() -> None:
    """As tables of web pages may be stored."""
    assert with_tables("| | |\n|---|---|\n| a | b |") == table_of(
        "<thead></thead><tbody><tr><td><bdi>a</bdi></td><td><bdi>b</bdi></td></tr></tbody>"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a | b\nc | d",
        "a\n---\nb | c",
        f"```\n{TABLE}\n```",
        "\n".join(f"    {line}" for line in TABLE.split("\n")),
        "\n".join(f"> {line}" for line in TABLE.split("\n")),
        "| a | b |\n|---|---|\n| 1 | 2 | 3 that nobody would see |",
        "| a | b |\n|---|---|\n| 1 | 2 \f|",
        "| a | b | c |\n|---|---|",
        "SELECT a || b\n-- | --",
    ],
)
def test_what_is_no_table_stays_text(text: str) -> None:
    """Code, quotations, and a table of whose rows a part would be left out."""
    assert with_tables(text) == shown(text)


def test_a_table_is_cut_between_its_rows() -> None:
    """Behind the row that holds the place, or behind the header; the end says that there is more."""
    more = '<span class="more">…</span>'
    in_rule, in_row, in_last = (TABLE.index(word) + 1 for word in ("---", "Ana", "Friday"))
    header, rest = ROWS.split("<tbody>")
    first = rest.split("</tr>")[0]
    assert with_tables(f"{TABLE}\n\nend", in_rule) == table_of(f"{header}<tbody></tbody>") + more
    assert with_tables(f"{TABLE}\n\nend", in_row) == table_of(f"{header}<tbody>{first}</tr></tbody>") + more
    assert with_tables(f"{TABLE}\n\nend", in_last) == table_of(ROWS) + more
    assert with_tables(TABLE, in_last) == table_of(ROWS)
    assert with_tables(f"{TABLE}\n\nend", len(TABLE) + 4) == table_of(ROWS) + f"<bdi>en</bdi>{more}"
    assert with_tables(f"before\n\n{TABLE}", 4) == f"<bdi>befo</bdi>{more}"


async def test_the_page_of_a_memory_shows_the_tables_of_its_text() -> None:
    """Those of a memory of code stay as they are written."""

    class Types(Memories):
        async def get(self, wanted: str) -> StoredMemory:
            found = memory(TABLE, wanted)
            found.type = self.text
            return StoredMemory.of_id(found)

    pages = {}
    for kind in ("semantic", "code"):
        async with client_of(Types(kind)) as client:
            pages[kind] = await client.get(f"/explorer/memories/{'a' * 32}")
    assert table_of(ROWS) in pages["semantic"].text
    assert '<table class="markdown">' not in pages["code"].text
    assert "style" not in pages["semantic"].headers["content-security-policy"]
    assert "style=" not in pages["semantic"].text


@pytest.mark.parametrize(
    "piece", ["> ", "- ", "a|b\n-|-\n", "a|b\n-|-|-\n", "|", "\\|", "```\n", "x\n", "| \n", "-"]
)
def test_hostile_texts_take_linear_time(piece: str, linear_functions: Linear) -> None:
    """Their blocks are read, and every cell is made safe."""
    texts = [*repeated(piece), Shape(f"table and {piece!r}", "a|b\n-|-\n", piece)]
    assert not linear_functions.failures(with_tables, texts=texts)
