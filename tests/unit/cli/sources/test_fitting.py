import re

from hypothesis import given, settings
from hypothesis import strategies as st

from helix_memory import limits
from helix_shared.sources.fitting import TEXT_BYTES, fits, fitted, json_bytes, pieces, shortened
from helix_shared.sources.source_event import SourceEvent
from helix_shared.sources.tool_calls import ToolCall, ToolResult, tool_item
from tests.examples import examples


def test_a_shortened_text_says_how_many_characters_are_left_out() -> None:
    """Of 10 characters, two of each end are kept, and the mark says that six are left out."""
    assert shortened("abcdefghij", 4) == "ab\n[... 6 characters left out by helix import ...]\nij"
    assert shortened("abcd", 4) == "abcd"


def test_pieces_are_cut_behind_a_paragraph_and_lose_nothing() -> None:
    """150,000 characters in paragraphs of 1,000 are cut between two paragraphs."""
    text = ("x" * 998 + "\n\n") * 150
    found = pieces(text)
    assert "".join(found) == text
    assert [len(piece) for piece in found] == [100_000, 50_000]


@settings(max_examples=examples(30), deadline=None)
@given(st.text(min_size=1, max_size=30), st.integers(1, 20_000))
def test_any_text_in_pieces_is_the_same_text_and_every_piece_fits(unit: str, times: int) -> None:
    """Texts of wide characters, of escapes, and without any boundary are within both limits."""
    text = unit * times
    found = pieces(text)
    assert "".join(found) == text
    assert all(fits(piece) for piece in found)


@settings(max_examples=examples(30), deadline=None)
@given(st.text(min_size=1, max_size=5), st.integers(0, 60_000), st.integers(0, 60_000))
def test_texts_of_one_event_fit_together(unit: str, first: int, second: int) -> None:
    """The sum is within the limit, and every cut is marked."""
    texts = {"output": unit * first, "error": unit * second}
    result = fitted(texts)
    assert sum(map(json_bytes, result.values())) <= TEXT_BYTES
    for name, text in result.items():
        assert len(text) <= limits.TEXT_CHARACTERS
        assert text == texts[name] or "characters left out by helix import" in text


def test_a_large_output_keeps_head_and_tail_and_the_numbers_add_up() -> None:
    """Head, tail and the number in the mark add up to the length of the output."""
    output = "HEAD" + "\N{GRINNING FACE}" * 300_000 + "TAIL"
    call = ToolCall("f:1", "bash", "make", "")
    fields = {"tenant_id": "acme"}
    item = tool_item(call, ToolResult(output=output), event_id="e", scope_fields=fields)
    assert isinstance(item, SourceEvent)
    kept = item.event.model_dump()["output"]
    mark = re.search(r"\n\[\.\.\. (\d+) characters left out by helix import \.\.\.\]\n", kept)
    assert mark
    assert kept.startswith("HEAD")
    assert kept.endswith("TAIL")
    assert len(kept) - len(mark.group(0)) + int(mark.group(1)) == len(output)
