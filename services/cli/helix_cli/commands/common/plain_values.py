"""Values of options that are what they must be: they are taken as they are.

Typer converts every value, a default as well, by an adapter of pydantic. Its import and the adapters take a
third of the processor time of a command that recalls. Most values are texts, or defaults that stay.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from functools import partialmethod
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from typer.core import TyperArgument, TyperOption

_TO_CONVERT: Final = object()
_PLAIN_NUMBER: Final = re.compile("0|[1-9][0-9]{0,8}")


def take_plain_values() -> None:
    """Make arguments and options of Typer, also its own `--help`, convert only those values that need it."""
    kinds: tuple[Any, ...] = (TyperArgument, TyperOption)
    for kind in kinds:
        kind.process_value = partialmethod(_process, kind.process_value)


def _process(parameter: Any, convert: Any, context: Any, value: Any) -> Any:
    """As `process_value` of a parameter: the value, or what the callback of the parameter makes of it."""
    plain = plain_value(parameter, value)
    if plain is _TO_CONVERT:
        return convert(parameter, context, value)
    return plain if parameter.callback is None else parameter.callback(context, parameter, plain)


def plain_value(parameter: Any, value: Any) -> Any:
    """What a conversion of `value` would return, or `_TO_CONVERT` where only a conversion knows."""
    descriptor = getattr(parameter, "type_descriptor", None)
    if descriptor is None or descriptor.parameter_info.parser is not None:
        return _TO_CONVERT
    wanted = descriptor.annotation
    if value is None:
        is_list = parameter.multiple or parameter.nargs == -1
        return _TO_CONVERT if parameter.required else () if is_list else None
    if get_origin(wanted) is list and get_args(wanted) == (str,):
        are_texts = isinstance(value, list | tuple) and value and all(type(one) is str for one in value)
        return list(value) if are_texts else _TO_CONVERT
    if not isinstance(wanted, type):
        return _TO_CONVERT
    if value is parameter.default and isinstance(value, wanted):
        return value
    return _single(wanted, value, descriptor.parameter_info)


def _single(wanted: type, text: Any, info: Any) -> Any:
    """One value that was given as text."""
    if type(text) is not str:
        return _TO_CONVERT
    if wanted is str:
        return text
    if wanted is Path:
        return Path(text) if _is_any_folder(info) and _is_readable_folder(text) else _TO_CONVERT
    if wanted is int and _PLAIN_NUMBER.fullmatch(text):
        number = int(text)
        fits = (info.min is None or info.min <= number) and (info.max is None or number <= info.max)
        return number if fits else _TO_CONVERT
    chosen: Any = wanted.__members__.values() if issubclass(wanted, StrEnum) else ()
    return next((one for one in chosen if one.value == text), _TO_CONVERT)


def _is_any_folder(info: Any) -> bool:
    """Whether a folder that can be read is taken as it was given."""
    return info.dir_okay and not (info.writable or info.resolve_path or info.path_type)


def _is_readable_folder(text: str) -> bool:
    return Path(text).is_dir() and os.access(text, os.R_OK)
