"""Requests: models made from the options of the client, and the reading of what a caller sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from pydantic_core import from_json

from helix_gateway.operations.attribute_docs import attribute_docs
from helix_memory import limits
from helix_memory.client.results import Written
from helix_memory.refusal import first_broken
from helix_shared.errors import InvalidInputError

REQUEST: Final = "request"
"""Field of an error that concerns the whole request."""
_FROM_CREDENTIAL: Final = frozenset({"user", "deadline_seconds"})
"""Options of the client that no request has: the credential names the user, the gateway has deadlines."""

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


class Arguments(BaseModel):
    """Arguments of a request; an unknown one is refused, null is the same as absent."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _one_as_several(value: object) -> object:
    return [value] if isinstance(value, str) else value


Several = Annotated[list[T], BeforeValidator(_one_as_several)]
"""A list; a single string stands for a list of one."""


def _is_no_reply(value: object) -> object:
    if isinstance(value, dict):
        raise ValueError("must be the `sequence` of the reply to a write, not the whole reply")  # noqa: TRY004  pydantic takes it as a reason
    return value


WriteSequence = Annotated[int, Field(ge=1), BeforeValidator(_is_no_reply)]
MemoryId = Annotated[str, Field(pattern=limits.MEMORY_ID_PATTERN)]
_KINDS: Final[Mapping[str, Any]] = {
    "after": WriteSequence,
    "around": MemoryId,
    "already_served": Several[MemoryId],
}
"""In JSON a memory is its id and a write its sequence."""
_DOCS: Final = {
    "after": "`sequence` of a write: wait for it until the deadline; `stale` in the reply: it is not in.",
}


def arguments(name: str, *options: type, **own: Any) -> type[Arguments]:
    """A model with the options of the client, and with `own` fields: type, or type and field."""
    fields: dict[str, Any] = {}
    for kind in options:
        docs = attribute_docs(kind)
        for field, hint in get_type_hints(kind).items():
            if field in _FROM_CREDENTIAL:
                continue
            type_ = _KINDS.get(field) or _in_json(hint)
            text = _DOCS.get(field) or docs.get(field)
            fields[field] = (type_ | None, Field(default=None, description=text))
    for field, value in own.items():
        fields[field] = value if isinstance(value, tuple) else (value, ...)
    return create_model(name, __base__=Arguments, **fields)


def given(sent: BaseModel, *without: str) -> dict[str, Any]:
    """The fields that were given, as keyword arguments of the client."""
    found = {name: getattr(sent, name) for name in type(sent).model_fields if name not in without}
    found = {name: value for name, value in found.items() if value is not None}
    if "after" in found:
        found["after"] = Written("", "", found["after"], duplicate=False)
    return found


def parsed(model: type[M], values: Mapping[str, Any]) -> M:
    """What a caller sent as a model.

    Raises:
        InvalidInputError: a field is unknown, missing, or breaks a limit.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        path, reason = first_broken(error, model.model_fields)
        raise InvalidInputError(".".join(path) or REQUEST, reason) from error


def parsed_json(model: type[M], body: bytes, path: Mapping[str, Any]) -> M:
    """A body of JSON as a model, with the fields that the path has.

    Raises:
        InvalidInputError: it is no JSON object, or as `parsed`.
    """
    try:
        values = from_json(body or b"{}", allow_inf_nan=False)
    except ValueError as error:
        raise InvalidInputError(REQUEST, f"is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise InvalidInputError(REQUEST, "must be a JSON object")
    if twice := values.keys() & path.keys():
        raise InvalidInputError(min(twice), "is given by the path")
    return parsed(model, {**values, **path})


def parsed_query(model: type[M], pairs: Iterable[tuple[str, str]], path: Mapping[str, Any]) -> M:
    """The parameters of an address as a model; a repeated one is a list.

    Raises: as `parsed`.
    """
    values: dict[str, Any] = dict(path)
    for name, value in pairs:
        if name in path:
            raise InvalidInputError(name, "is given by the path")
        if name in values:
            before = values[name]
            values[name] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            values[name] = value
    return parsed(model, values)


def _in_json(hint: Any) -> Any:
    """The type of an option as it is in JSON."""
    if hint is datetime:
        return AwareDatetime
    origin = get_origin(hint)
    if origin is Literal:
        return hint
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return Several[_in_json(get_args(hint)[0])]  # type: ignore[misc]  # made at run time
    return hint
