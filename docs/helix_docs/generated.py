"""Parts of pages that are made from code: `<!-- generate: NAME OF -->` calls the function of that name.

It imports nothing outside of the standard library until a part that needs it is made, because a contract test
makes the others.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from typing import Final

from helix_docs.sources import ROOT, GoneError

PROFILES: Final = ("services/query/helix_query/profile", "services/query/helix_query/profile/recipes")
_TITLE: Final = re.compile(r"^# (\d{4}):? (.+)$")
_DATE: Final = re.compile(r"^\**(?:Date:?\**:? *)?(\d{4}-\d{2}-\d{2})", re.MULTILINE)


def proto(path: str) -> str:
    """The reference of a protobuf file."""
    from helix_docs.proto_reference import reference  # noqa: PLC0415  needs protobuf

    return reference(path)


def events(_: str) -> str:
    """The reference of events, from the AsyncAPI document."""
    from helix_docs.schema_reference import events_reference  # noqa: PLC0415  with the other references

    return events_reference()


def event_kinds(_: str) -> str:
    """The table of kinds of events."""
    from helix_docs.schema_reference import event_kinds as kinds  # noqa: PLC0415  likewise

    return kinds()


def rest(_: str) -> str:
    """The reference of REST, from the OpenAPI document."""
    from helix_docs.schema_reference import rest_reference  # noqa: PLC0415  needs the gateway

    return rest_reference()


def cli(_: str) -> str:
    """The reference of the `helix` command, from its parser."""
    from helix_docs.cli_reference import cli_reference  # noqa: PLC0415  imports every command

    return cli_reference()


def limits(_: str) -> str:
    """The limits of events and requests, from `helix_memory.limits`."""
    module = importlib.import_module("helix_memory.limits")
    source = (ROOT / "proto/helix_memory/limits.py").read_text(encoding="utf-8")
    rows = ["| limit | value | of |", "|---|---|---|"]
    found = re.findall(r'^([A-Z_]+): Final = .*(?:\n"""(.+?)""")?', source, re.MULTILINE)
    for name, of in found:
        value = getattr(module, name)
        shown = f"{value:,}" if isinstance(value, int) and "YEAR" not in name else f"`{value}`"
        rows.append(f"| {name.lower().replace('_', ' ')} | {shown} | {of} |")
    return "\n".join(rows)


def profile(name: str) -> str:
    """A ranking profile: what it says of itself, how it is asked for, and its file.

    Raises:
        GoneError: there is no such profile.
    """
    path = profile_files().get(name)
    if path is None:
        raise GoneError(f"there is no ranking profile {name}")
    text = (ROOT / path).read_text(encoding="utf-8")
    stated = tomllib.loads(text)
    comment = " ".join(line.removeprefix("# ") for line in text.split("\nname = ")[0].splitlines())
    size = f"{stated['top_k']} memories, {stated['token_budget']:,} tokens"
    facts = f"`{path}`: {size}, unless the request says otherwise."
    return "\n".join([comment, "", facts, "", "```toml", text.rstrip("\n"), "```"])


def profiles(_: str) -> str:
    """The table of ranking profiles."""
    rows = ["| ranking profile | what it is |", "|---|---|"]
    for name, path in profile_files().items():
        described = tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["description"]
        rows.append(f"| [`{name}`](/docs/pages/profiles/{name}.md) | {described} |")
    return "\n".join(rows)


def profile_files() -> dict[str, str]:
    """Files of the ranking profiles of the query service by name, the default first."""
    return {
        file.stem: file.relative_to(ROOT).as_posix()
        for folder in PROFILES
        for file in sorted((ROOT / folder).glob("*.toml"))
    }


def decisions(_: str) -> str:
    """The table of decisions."""
    rows = ["| number | decision | date |", "|---|---|---|"]
    for file in sorted((ROOT / "ops/decisions").glob("*.md")):
        number, title, date = _decision(file.read_text(encoding="utf-8"), file.name)
        rows.append(f"| {number} | [{title}](/ops/decisions/{file.name}) | {date} |")
    return "\n".join(rows)


def source(path: str) -> str:
    """Where a table comes from: number, title and date of the decision that has it."""
    file = ROOT / path
    if not file.is_file():
        raise GoneError(f"{path} does not exist")
    number, title, date = _decision(file.read_text(encoding="utf-8"), file.name)
    return f"From decision [{number}, {title}](/{path}), {date}."


def _decision(text: str, name: str) -> tuple[str, str, str]:
    title = _TITLE.match(text.splitlines()[0])
    date = _DATE.search(text)
    if title is None:
        raise GoneError(f"ops/decisions/{name} does not begin with its number and title")
    return title[1], title[2], date[1] if date else ""


GENERATORS: Final = {
    "proto": proto, "events": events, "event-kinds": event_kinds, "rest": rest, "cli": cli, "limits": limits,
    "profile": profile, "profiles": profiles, "decisions": decisions, "source": source,
}  # fmt: skip


def generate(name: str, of: str) -> str:
    """The part of this name.

    Raises:
        GoneError: there is no such part, or what it is of does not exist.
    """
    if name not in GENERATORS:
        raise GoneError(f"nothing generates {name}")
    return GENERATORS[name](of)
