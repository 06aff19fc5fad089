"""The types of event fields: each holds the limit that a value must keep."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints

from helix_memory import limits
from helix_memory.events.private_passages import what_may_be_kept

_NAME: Final = re.compile(limits.NAME_PATTERN)
_MEMORY_ID: Final = re.compile(limits.MEMORY_ID_PATTERN)


def _in_bounds(moment: datetime) -> datetime:
    if not limits.FIRST_YEAR < moment.year <= limits.LAST_YEAR:
        message = f"must lie in the years {limits.FIRST_YEAR + 1} to {limits.LAST_YEAR}"
        raise ValueError(message)
    return moment


def _without_control_characters(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        message = "must not hold control characters"
        raise ValueError(message)
    return name


def _is_memory_id(memory_id: str) -> str:
    if _MEMORY_ID.fullmatch(memory_id) is None:
        message = "must be 32 hexadecimal digits in lower case"
        raise ValueError(message)
    return memory_id


Moment = Annotated[AwareDatetime, AfterValidator(_in_bounds)]
Token = Annotated[str, StringConstraints(pattern=limits.TOKEN_PATTERN)]
EventId = Annotated[str, StringConstraints(pattern=limits.EVENT_ID_PATTERN)]
Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.NAME_CHARACTERS),
    AfterValidator(_without_control_characters),
    Field(json_schema_extra={"pattern": limits.NAME_PATTERN}),
]
MemoryId = Annotated[
    str, AfterValidator(_is_memory_id), Field(json_schema_extra={"pattern": limits.MEMORY_ID_PATTERN})
]
Text = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.TEXT_CHARACTERS, pattern=limits.TEXT_PATTERN)
]
Said = Annotated[Text, BeforeValidator(what_may_be_kept)]
"""What a person or an agent says; private passages are left out."""
OptionalText = Annotated[str, StringConstraints(max_length=limits.TEXT_CHARACTERS)]
Title = Annotated[str, StringConstraints(max_length=limits.TITLE_CHARACTERS)]
Unit = Annotated[float, Field(ge=0.0, le=1.0)]
Priority = Annotated[float, Field(ge=1.0, le=2.0)]
Tags = Annotated[list[Name], Field(max_length=limits.TAGS)]
