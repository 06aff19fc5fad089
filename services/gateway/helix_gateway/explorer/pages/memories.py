"""Memories: a page of them with filters, or those that answer a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from helix_gateway.explorer.asked import memory_id
from helix_gateway.explorer.pages.memory import SAID
from helix_memory.client.results import Memory
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_memory.vocabulary.speech_acts import FLAGS

if TYPE_CHECKING:
    from helix_gateway.explorer.asked import Asked

SIZES: Final = (1, 200)
SIZE: Final = 50
FOUND: Final = 50


async def build(asked: Asked) -> dict[str, Any]:
    """The memories that pass the filters: the newest first, or the best for a question."""
    question = asked.text("q")
    filters = _filters(asked)
    memories: tuple[Memory, ...]
    if question:
        options = {name: value for name, value in filters.items() if name != "order"}
        found = await asked.helix.recall(question, top_k=FOUND, never_skip=True, not_served=True, **options)
        memories, after = found.memories, ""
    else:
        listed = await asked.helix.list(**filters, page_size=asked.number("size", SIZE, SIZES), **asked.page)
        memories, after = listed.memories, listed.next_page_token
    return {
        "title": "Memories",
        "query": question,
        "memories": memories,
        "filtered": any(value for name, value in filters.items() if name != "order") or asked.page,
        "next": _next(asked, after),
        "types": MEMORY_TYPES,
        "flags": FLAGS,
        "chosen": {
            name: asked.text(name) for name in ("project", "session", "since", "until", "as_of", "order")
        },
        "chosen_types": asked.texts("type"),
        "chosen_flags": {name: asked.texts(name) for name in ("flag", "without")},
        "said": SAID.get(asked.text("done"), ""),
        "changed": memory_id("changed", asked.text("changed")) if asked.text("changed") else "",
        "size": asked.number("size", SIZE, SIZES),
    }


def _filters(asked: Asked) -> dict[str, Any]:
    given = {
        "types": asked.texts("type"),
        "projects": [asked.text("project")] if asked.text("project") else [],
        "sessions": [asked.text("session")] if asked.text("session") else [],
        "flags": asked.texts("flag"),
        "exclude_flags": asked.texts("without"),
        "event_after": asked.moment("since"),
        "event_before": asked.end("until"),
        "as_of": asked.moment("as_of"),
        "order": asked.text("order"),
    }
    return {name: value for name, value in given.items() if value}


def _next(asked: Asked, token: str) -> list[tuple[str, str]]:
    """The parameters of the next page; none: this is the last."""
    if not token:
        return []
    kept = [(name, value) for name, value in asked.request.query_params.multi_items() if name != "page"]
    return [*((name, value) for name, value in kept if value), ("page", token)]
