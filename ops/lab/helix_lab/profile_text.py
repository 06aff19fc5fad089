"""Replaces one table of a ranking profile's TOML and leaves every other line, comments too, as it is."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tomli_w

from helix_query.profile.overrides import with_constants
from helix_shared.errors import InvalidInputError
from helix_shared.machine.whole_file import write_whole

if TYPE_CHECKING:
    from pydantic import BaseModel

    from helix_query.profile.profile import RankingProfile

COMMENT_COLUMNS: Final = 106
_HEADING: Final = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+")


def with_table(text: str, table: str, values: BaseModel, *, comment: str) -> str:
    """`text` with `table` (dotted) and what is below it replaced, or appended; `comment` stands above it.

    Raises:
        InvalidInputError: `text` is no TOML, or has the table without a heading of its own.
    """
    before, after = _around(text.splitlines(), table)
    nested: Mapping[str, Any] = values.model_dump(mode="json", exclude_none=True)
    for name in reversed(table.split(".")):
        nested = {name: nested}
    lines = textwrap.wrap(comment, COMMENT_COLUMNS, break_on_hyphens=False)
    written = "\n".join([*(f"# {line}" for line in lines), _dumped(nested, table)])
    parts = ["\n".join(before).strip(), written, "\n".join(after).strip()]
    found = "\n\n".join(part.rstrip() for part in parts if part.strip()) + "\n"
    try:
        tomllib.loads(text)
        tomllib.loads(found)
    except tomllib.TOMLDecodeError as error:
        reason = f"[{table}] cannot be replaced in it: {error}; a table needs a heading of its own"
        raise InvalidInputError("out", reason) from error
    return found


def check_profile_file(out: Path, start: RankingProfile, table: str) -> None:
    """Refuse a file that `write_table` could not write, before there is anything to write.

    Raises:
        InvalidInputError: its name is not that of a profile; else as `with_table`.
    """
    if out.suffix != ".toml":
        raise InvalidInputError("out", f"is {out.name}: the file of a ranking profile ends in .toml")
    with_constants(start, {"name": out.stem})
    # what the table will hold does not matter
    with_table(_text_of(out, start), table, start.route, comment="")


def write_table(out: Path, start: RankingProfile, table: str, values: BaseModel, *, comment: str) -> None:
    """Replace `table` in the profile file `out`; without that file, make it from `start`.

    Raises: as `with_table`.
    """
    write_whole(out, with_table(_text_of(out, start), table, values, comment=comment).encode())


def _text_of(out: Path, start: RankingProfile) -> str:
    if out.exists():
        return out.read_text(encoding="utf-8")
    return tomli_w.dumps(start.model_dump(mode="json", exclude_none=True) | {"name": out.stem})


def _dumped(nested: Mapping[str, Any], table: str) -> str:
    """The TOML of the table, without the empty headings of the tables above it."""
    text = tomli_w.dumps(nested)
    return text[text.index(f"[{table}]") if f"[{table}]" in text else 0 :]


def _around(lines: Sequence[str], table: str) -> tuple[list[str], list[str]]:
    """The lines before and after the table, both without the comments right above the table."""
    before: list[str] = []
    after: list[str] = []
    comments: list[str] = []
    inside = passed = False
    for line in lines:
        if line.startswith("#"):
            # a comment belongs to the table of the line after it
            comments.append(line)
            continue
        heading = _HEADING.match(line)
        belonged, inside = inside, _is_of(table, heading[1]) if heading else inside
        passed = passed or inside
        kept = after if passed else before
        if not (inside if heading else belonged):
            kept += comments
        comments = []
        if not inside:
            kept.append(line)
    if not inside:
        (after if passed else before).extend(comments)
    return before, after


def _is_of(table: str, heading: str) -> bool:
    return f"{heading.strip()}.".startswith(f"{table}.")
