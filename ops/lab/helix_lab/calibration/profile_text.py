"""Replaces `[abstain]` in a ranking profile's TOML and leaves every other line, comments too, as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import tomli_w

from helix_query.profile.sections.abstention import Abstain

_HEADING: Final = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+")


def with_abstain(text: str, abstain: Abstain, *, heading: Sequence[str]) -> str:
    """`text` with the part replaced, or appended; `heading` is the comment above it."""
    kept = "\n".join(_without(text.splitlines())).rstrip()
    comment = "\n".join(f"# {line}".rstrip() for line in heading)
    part = tomli_w.dumps({"abstain": abstain.model_dump(mode="json", exclude_none=True)})
    return f"{kept}\n\n{comment}\n{part}"


def _without(lines: Sequence[str]) -> list[str]:
    """The lines outside the tables of abstain and the comments right above them."""
    kept: list[str] = []
    comments: list[str] = []
    inside = False
    for line in lines:
        if line.startswith("#"):
            # a comment belongs to the table of the line after it
            comments.append(line)
            continue
        heading = _HEADING.match(line)
        belonged, inside = inside, _is_abstain(heading[1]) if heading else inside
        if not (inside if heading else belonged):
            kept += comments
        comments = []
        if not inside:
            kept.append(line)
    return kept if inside else kept + comments


def _is_abstain(table: str) -> bool:
    return table.split(".", maxsplit=1)[0].strip() == "abstain"
