import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_memory.events.private_passages import without_private
from helix_shared.sources.cleaning import cleaned, is_memory_tool


@pytest.mark.parametrize(
    "tag",
    ["helix_memories", "hindsight_memories", "vendor_memories", "relevant-memories", "mem0-relevant-memories",
     "claude-mem-context", "supermemory-context", "mem0-recall", "memory-context", "system-reminder",
     "Helix_Memories"],
)  # fmt: skip
def test_what_a_memory_system_injected_is_left_out(tag: str) -> None:
    """Else every recall would be remembered again; tags may have attributes."""
    assert cleaned(f'Fix it<{tag} source="x">We chose\nPostgres</{tag}> now') == "Fix it now"


def test_other_tags_and_an_unclosed_block_stay() -> None:
    """A user may write about tags; nothing of theirs is lost."""
    text = "The <b>tag</b> <helix_memories> opens a block, <code>a < b</code>"
    assert cleaned(text) == text


def test_a_complete_block_after_an_unclosed_one_is_left_out() -> None:
    """An opening tag without an end hides no later block."""
    assert cleaned("<mem0-recall> a <helix_memories>b</helix_memories> c") == "<mem0-recall> a  c"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>b</private> c", "a c"),
        ("my pin is <private>4711</private>.", "my pin is."),
        ("a <private>b</private> <private>c</private>, d", "a, d"),
        ("a <PRIVATE reason='x'>b\nb</Private > c", "a c"),
        ("a <private>b <private>c</private> d</private> e", "a e"),
        ("a <private>b", "a "),
        ("a </private> b", " b"),
        ("<private>all</private>", ""),
        ("privately <privates>", "privately <privates>"),
    ],
)
def test_private_passages_are_left_out(text: str, kept: str) -> None:
    """Nested ones whole; where a tag is missing, up to the end or from the beginning."""
    assert cleaned(text) == kept


@given(
    st.lists(st.sampled_from(["<private>", "</private>", "<helix_memories>", "</helix_memories>", "x ", "<"]))
)
def test_nothing_between_private_tags_is_kept(parts: list[str]) -> None:
    """Whatever the tags around it are."""
    marked = "5e5d"
    assert marked not in without_private("".join([*parts, "<private>", marked, "</private>", *parts]))


def test_cleaning_a_long_text_of_tags_is_linear() -> None:
    """Many openings without an end would cost hours if each looked for its end."""
    text = "<helix_memories>" * 60_000 + "<private " * 60_000
    assert cleaned(text) == text


@pytest.mark.parametrize(
    ("tool", "remembers"),
    [
        ("mcp__helix__recall", True),
        ("mcp__helix-memory__recall", True),
        ("mcp__plugin_claude-mem_mcp-search__timeline", True),
        ("mcp__basic_memory__read", True),
        ("mcp__mem0__search", True),
        ("mcp__github__search", False),
        ("mcp__remember__x", False),
        ("Bash", False),
        ("helix", False),
    ],
)
def test_tools_of_memory_servers_are_known_by_their_server(tool: str, *, remembers: bool) -> None:
    """What they return is remembered already, or in another system."""
    assert is_memory_tool(tool) is remembers
