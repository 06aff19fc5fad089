"""Notes of basic-memory in the form in which it writes them."""

from datetime import UTC, datetime
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_cli.sources.discover import discover
from helix_cli.sources.documents.formats import Format
from helix_cli.sources.vendors.front_matter import front_matter, one
from helix_memory.events import DocumentEvent, MemoryEvent
from tests.examples import examples

from .reading import events, items, refused, skipped

NOTE = """---
title: Coffee Brewing Methods
type: note
permalink: coffee/brewing-methods
tags:
- coffee
- '#brewing'
created: '2025-01-15T09:30:00+01:00'
---

# Coffee Brewing Methods

A good cup begins with the water.

## Observations
- [method] Pour over gives more clarity #brewing #v60 (tested twice)
- [decision] We grind at 18 g
- [fact] @effective[2026-06-10,2026-07-27) The kettle is on loan
- [ ] buy filters
- [00:00:11] so, welcome

```
- [method] not in code
```

## Relations
- requires [[Burr Grinder]] (for pour over)
- "part of" [[Kitchen|the kitchen]]
"""


def note(folder: Path, text: str = NOTE, name: str = "brewing.md") -> Path:
    """A note in a folder."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_observations_and_relations_become_memories_that_name_their_note(tmp_path: Path) -> None:
    """Category, tags and context are kept; a task, a clock time and code are none."""
    document, *memories = events(note(tmp_path))
    assert all(isinstance(event, MemoryEvent) for event in memories)
    assert [event.text for event in memories] == [
        "Coffee Brewing Methods: Pour over gives more clarity (tested twice)",
        "Coffee Brewing Methods: We grind at 18 g",
        "Coffee Brewing Methods: The kettle is on loan",
        "Coffee Brewing Methods requires Burr Grinder (for pour over)",
        "Coffee Brewing Methods part of Kitchen",
    ]
    assert memories[0].tags == ["method", "brewing", "v60", "coffee"]
    assert memories[1].type == "decision"
    assert {event.occurred_at for event in memories} == {datetime(2025, 1, 15, 8, 30, tzinfo=UTC)}
    assert isinstance(document, DocumentEvent)


def test_the_other_text_becomes_the_document_of_the_note(tmp_path: Path) -> None:
    """Its id is the permalink, so a note that was moved replaces itself; nothing is there twice."""
    document = events(note(tmp_path))[0]
    assert (document.document_id, document.title) == ("coffee/brewing-methods", "Coffee Brewing Methods")
    assert document.tags == ["coffee", "brewing", "note"]
    assert "begins with the water" in document.body
    assert "- [ ] buy filters" in document.body
    assert "not in code" in document.body
    assert "clarity" not in document.body
    (tmp_path / "moved").mkdir()
    assert events(note(tmp_path / "moved", name="other.md"))[0].document_id == document.document_id


def test_a_time_before_an_observation_says_when_it_holds(tmp_path: Path) -> None:
    """An end with a bracket belongs to the span, one with a parenthesis does not."""
    loan = events(note(tmp_path))[3]
    assert loan.valid_from is not None
    assert loan.valid_to is not None
    assert (loan.valid_from.date().isoformat(), loan.valid_to.date().isoformat()) == (
        "2026-06-10",
        "2026-07-27",
    )
    head = NOTE[: NOTE.index("# Coffee")]
    text = head + (
        "- [fact] @valid[2026-06-10,2026-07-27] open\n"
        "- [fact] @occurred:2026-02-03T10:00:00Z it rained\n"
        "- [fact] @todo:2026-02-03 untouched\n"
        "- [fact] @ada said so\n"
    )
    _, shut, rained, other, ada = [None, *events(note(tmp_path, text, "b.md"))]
    assert shut.valid_to.date().isoformat() == "2026-07-28"
    assert (rained.event_start, rained.valid_from) == (datetime(2026, 2, 3, 10, tzinfo=UTC), None)
    assert (other.text, ada.text) == (
        "Coffee Brewing Methods: @todo:2026-02-03 untouched",
        "Coffee Brewing Methods: @ada said so",
    )


def test_a_note_of_observations_alone_has_no_document(tmp_path: Path) -> None:
    """Headings say nothing by themselves."""
    head = NOTE[: NOTE.index("# Coffee")]
    found = items(note(tmp_path, head + "# Title\n\n- [fact] It is late\n"))
    assert skipped(found) == ["notes without text beside their observations and relations"]
    assert len(found) == 2


def test_ids_follow_from_permalink_and_text(tmp_path: Path) -> None:
    """A second import changes nothing, and a new observation changes no other id."""
    before = {event.event_id for event in events(note(tmp_path))[1:]}
    after = events(note(tmp_path, NOTE.replace("- [decision]", "- [fact] Water is at 93 °C\n- [decision]")))[
        1:
    ]
    assert before < {event.event_id for event in after}


def test_only_a_note_with_the_fields_of_basic_memory_is_one(tmp_path: Path) -> None:
    """Other Markdown stays a document; `--from` decides where a note lacks a field."""
    jekyll = "---\nlayout: post\ntitle: A\ntype: post\npermalink: /a\n---\n- [x] text #y\n"
    plain = note(tmp_path, "---\ntitle: A\n---\n\n- [idea] Try chicory #taste\n", "plain.md")
    formats = {
        source.path.name: source.format
        for source in discover([note(tmp_path), note(tmp_path, jekyll, "jekyll.md"), plain]).sources
    }
    assert formats == {
        "brewing.md": Format.BASIC_MEMORY,
        "jekyll.md": Format.MARKDOWN,
        "plain.md": Format.MARKDOWN,
    }
    (idea,) = events(plain, named=Format.BASIC_MEMORY)
    assert (idea.text, idea.tags) == ("A: Try chicory", ["idea", "taste"])


def test_a_note_that_is_no_text_is_refused_once(tmp_path: Path) -> None:
    """By the name of its file."""
    path = tmp_path / "a.md"
    path.write_bytes(b"---\ntitle: x\n---\n\xff\xfe\x00")
    (refusal,) = items(path, named=Format.BASIC_MEMORY)
    assert "is not UTF-8" in str(refusal)


def test_a_time_at_the_end_of_all_times_is_refused_alone(tmp_path: Path) -> None:
    """A day after the last one, or that day in the zone of this machine, may not exist."""
    ends = "- [fact] @effective[2026-06-10,9999-12-31] It holds\n"
    begins = "- [fact] @0001-01-01 It held\n- [fact] @9999-12-31 It will\n"
    found = items(note(tmp_path, NOTE.replace("- [decision]", f"{ends}{begins}- [decision]")))
    assert refused(found) == [
        f"brewing.md:{line}: {field}: must lie in the years 1001 to 2999"
        for line, field in ((17, "valid_to"), (18, "valid_from"), (19, "valid_from"))
    ]
    assert len(found) - len(refused(found)) == len(items(note(tmp_path)))
    (created,) = items(
        note(tmp_path, "---\ntitle: A\npermalink: a\ntype: note\ncreated: 0001-01-01\n---\n- [x y] B\n")
    )[1:]
    assert refused([created]) == ["brewing.md:7: occurred_at: must lie in the years 1001 to 2999"]


WORDS = st.lists(
    st.text("abc\u00e9\t'\"\\\\:#-,[]{}|>&*!%@`0 ", min_size=1, max_size=12).filter(
        lambda one: one == one.strip()
    ),
    min_size=1,
    max_size=30,
)


@given(title=WORDS.map(" ".join), tags=st.lists(WORDS.map(" ".join), max_size=3))
@settings(max_examples=examples(200), deadline=None)
def test_what_yaml_writes_in_several_lines_is_read_whole(title: str, tags: list[str]) -> None:
    """As basic-memory writes its notes: a value of more than 80 characters goes on in the next line."""
    about = {"title": title, "type": "note", "nested": {"title": title}, "tags": tags, "permalink": "a"}
    written = yaml.safe_dump(about, sort_keys=False, allow_unicode=True)
    fields, body = front_matter(f"---\n{written}---\nText\n")
    assert (one(fields, "title"), one(fields, "permalink"), body) == (title, "a", "Text\n")
    assert fields["tags"] == tags


def test_a_block_of_text_and_a_nested_value_are_left_out() -> None:
    """What follows them is read."""
    text = (
        "---\ntitle: >-\n  A: b\n  c\nmeta: # more\n  kind: x\n  y\nlinks:\n- to: a\n  by: b\nkind: z\n---\n"
    )
    assert front_matter(text)[0] == {"title": "", "meta": "", "links": ["to: a"], "kind": "z"}


def test_a_note_with_much_front_matter_is_one_as_well(tmp_path: Path) -> None:
    """What the beginning of a file tells ends with it, not after a few lines."""
    tags = "".join(f"- topic number {number}\n" for number in range(500))
    for mark in ("", "\ufeff"):
        path = note(tmp_path, mark + NOTE.replace("- coffee\n", tags))
        (source,) = discover([path]).sources
        assert source.format is Format.BASIC_MEMORY
