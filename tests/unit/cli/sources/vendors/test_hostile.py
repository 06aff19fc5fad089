"""Exports with values of every other kind: nothing ends the import, and every record is told."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_cli.sources.documents.formats import Format, detected
from helix_shared.sources.items import Item
from tests.examples import examples

from .reading import items, refused

NAMES = [
    "id",
    "uuid",
    "memory",
    "content",
    "fact",
    "text",
    "summary",
    "name",
    "type",
    "from",
    "to",
    "relationType",
    "entityType",
    "observations",
    "created_at",
    "updated_at",
    "valid_at",
    "invalid_at",
    "state",
    "history",
    "categories",
    "category_ids",
    "tags",
    "entities",
    "labels",
    "metadata",
    "fact_type",
    "facts",
    "results",
    "items",
    "memories",
    "relations",
    "messages",
    "user",
    "user_id",
    "run_id",
    "role",
    "role_type",
    "source",
    "memory_id",
    "event",
    "new_memory",
    "app_id",
    "edited_at",
    "occurred_start",
    "occurred_end",
    "original_text",
    "chunks",
]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from(
        ["", " ", "entity", "relation", "2026-01-01", "2026-01-01T00:00:00Z", "9999-12-31", "deleted"]
    ),
    st.text(max_size=20),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("vendor", ["mem0", "zep", "hindsight", "server-memory"])
@given(value=VALUES)
@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_value_ends_the_import(tmp_path: Path, vendor: str, value: Any) -> None:
    """What is no record is refused or counted; what is one becomes events that the stream takes."""
    path = tmp_path / "export.json"
    path.write_text(json.dumps([value], indent=1), encoding="utf-8")
    found: list[Item] = items(path, named=Format(vendor))
    assert all(hasattr(item, "event") or hasattr(item, "reason") or hasattr(item, "why") for item in found)
    path.write_text(json.dumps(value), encoding="utf-8")
    assert items(path, named=Format(vendor)) == items(path, named=Format(vendor))


@given(text=st.text(max_size=300))
@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_note_ends_the_import(tmp_path: Path, text: str) -> None:
    """Front matter and entries may hold anything."""
    path = tmp_path / "note.md"
    path.write_text(
        f"---\ntitle: {text}\npermalink: {text}\n---\n- [fact] {text}\n- {text} [[{text}]]\n{text}\n"
    )
    items(path, named=Format.BASIC_MEMORY)


@pytest.mark.parametrize("name", ["[1]", "{}", "7", "null", "'id'"])
def test_a_field_whose_name_is_no_text_ends_the_file_with_its_line(tmp_path: Path, name: str) -> None:
    """What was read before it is kept."""
    path = tmp_path / "export.json"
    path.write_text(f'{{"results": [\n{{"id": "1", "memory": "a"}}],\n{name}: 2}}\n', encoding="utf-8")
    found = items(path, named=Format.MEM0)
    assert refused(found) == [
        "export.json:3: line: no JSON: expecting a name in double quotes; what follows is not read"
    ]
    assert len(found) == 2


def test_of_two_fields_with_one_name_the_last_counts(tmp_path: Path) -> None:
    """Also where the first is a list, and the last is none."""
    path = tmp_path / "export.json"
    lists = '"results": [\n{"id": "1", "memory": "a"}],\n"memories": [\n{"id": "2", "memory": "b"}]'
    path.write_text(f'{{{lists},\n"results": null}}\n', encoding="utf-8")
    assert [item.event.text for item in items(path, named=Format.MEM0) if hasattr(item, "event")] == ["b"]


def _exports(said: str) -> dict[str, tuple[str, str]]:
    """A file of each vendor that says a text without an id of its own, and the ending of its name."""
    relation = {"source": "Ana", "relationship": "knows", "target": said}
    observed = {"type": "entity", "name": "Ana", "entityType": "person", "observations": [said]}
    related = {"type": "relation", "from": "Ana", "to": said, "relationType": "knows"}
    later = {"memory_id": "m", "old_memory": "", "event": "UPDATE", "updated_at": "2026-01-02T00:00:00Z"}
    history = [
        later | {"new_memory": "Hi", "updated_at": "2026-01-01T00:00:00Z"},
        later | {"new_memory": said},
    ]
    turn = {"content": said, "role": "user", "created_at": "2026-01-01T00:00:00Z"}
    return {
        "server-memory": (".jsonl", f"{json.dumps(observed)}\n{json.dumps(related)}\n"),
        "mem0": (".json", json.dumps({"results": [], "relations": [relation]}, indent=1)),
        "mem0-history": (".json", json.dumps(history)),
        "zep": (".json", json.dumps([turn])),
        "hindsight": (".json", json.dumps([{"text": said, "fact_type": "world"}])),
        "basic-memory": (".md", f"---\ntitle: A\npermalink: a\n---\n- [fact] {said}\n"),
    }  # fmt: skip


@pytest.mark.parametrize("vendor", _exports("").keys())
def test_no_id_tells_of_a_private_passage(tmp_path: Path, vendor: str) -> None:
    """A short one could be found by trying ids."""
    made = []
    for code in (4711, 4712):
        ending, text = _exports(f"The code is <private>{code} #{code}</private>, as ever.")[vendor]
        path = tmp_path / f"export{ending}"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000))
        found = items(path, named=Format(vendor.removesuffix("-history")))
        made.append([item.event for item in found if hasattr(item, "event")])
    assert made[0] == made[1]
    assert made[0]
    assert "4711" not in str(made)


def test_no_part_of_a_long_private_passage_is_sent(tmp_path: Path) -> None:
    """Its middle has neither of the tags; a text that is all private is refused."""
    secret = f"<private>{'4711 ' * 60_000}</private>"
    for said, expected in ((f"{secret} The door is green.", "The door is green."), (secret, "")):
        path = tmp_path / "export.json"
        path.write_text(json.dumps([{"id": "1", "memory": said}]), encoding="utf-8")
        found = items(path, named=Format.MEM0)
        assert [item.event.text for item in found if hasattr(item, "event")] == [expected] * bool(expected)
        assert len(found) == 1


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255), size=st.integers(1, 4))
@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_damage_of_an_archive_ends_the_import(
    tmp_path: Path, compression: int, place: float, value: int, size: int
) -> None:
    """Wherever it is: in the names of the files, in their sizes, or in what is compressed."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(
            "\u00e9/memories.json", json.dumps({"memories": [{"id": "1", "memory": "Hello" * 9}]})
        )
    content = bytearray(path.read_bytes())
    at = int(place * len(content))
    content[at : at + size] = bytes([value]) * size
    path.write_bytes(content)
    detected(path)
    items(path, named=Format.MEM0)


@pytest.mark.parametrize(
    ("damaged", "by"), [(b"\xc3\xa9/", b"\xff\xff/"), (b"\t\x04\x05\x00]", b"\t\x04\x05\x00\xff")]
)
def test_damage_of_an_archive_is_told(tmp_path: Path, damaged: bytes, by: bytes) -> None:
    """Of the name of a file, which says that it is UTF-8, and of the parameters of LZMA."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(
            "\u00e9/memories.json", json.dumps({"memories": [{"id": "1", "memory": "Hello" * 9}]})
        )
    content = path.read_bytes()
    assert damaged in content
    path.write_bytes(content.replace(damaged, by))
    (told,) = refused(items(path, named=Format.MEM0))
    assert "is damaged or encrypted" in told
