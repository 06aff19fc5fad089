"""One tool: its arguments, its result, and what it tells a host about itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
from pydantic import BaseModel

from helix_gateway.operations.requests import Arguments

if TYPE_CHECKING:
    from helix_gateway.callers import Caller

Run = Callable[["Caller", Any], Awaitable[BaseModel]]
"""Calls the client with the arguments of a tool."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What an agent can call."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[BaseModel]
    role: str
    run: Run
    reads: bool = False
    """It changes nothing."""
    hides: bool = False
    """It hides or replaces what is there."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of the arguments; others are refused."""
        return self.arguments.model_json_schema()

    def described(self) -> types.Tool:
        """The tool as the protocol lists it; a second call with the same arguments changes nothing more."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.result.model_json_schema(mode="serialization"),
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.reads,
                destructive_hint=self.hides,
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )
