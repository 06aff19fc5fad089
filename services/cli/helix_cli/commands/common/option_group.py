"""Gives a command a group of options that several commands share, as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from itertools import takewhile
from typing import Any


def with_options(
    name: str, made_by: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: the parameter `name` of a command becomes those of `made_by`, which makes its value."""
    group = inspect.signature(made_by, eval_str=True).parameters

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        before = list(takewhile(lambda one: one != name, own))
        after = [own[one] for one in own if one not in (*before, name)]

        @wraps(command)
        def wrapper(**values: Any) -> None:
            made = made_by(**{one: values.pop(one) for one in group})
            command(**{name: made}, **values)

        parameters = [*(own[one] for one in before), *group.values(), *after]
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # typer reads it
        # typer also reads type hints; without these it would find those of `command`
        wrapper.__annotations__ = {one.name: one.annotation for one in parameters}
        del wrapper.__wrapped__
        return wrapper

    return decorate
