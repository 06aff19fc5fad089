"""The outcome of one batch: its messages by what happened to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nats.aio.msg import Msg

    from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError


@dataclass(slots=True)
class Outcome:
    """`done` and `dead` are settled once their generation is published; dead letters are stored before."""

    done: list[Msg] = field(default_factory=list)
    foreign: list[Msg] = field(default_factory=list)
    """Of tenants of other shards: counted as processed, and nothing else; settled as `done` is."""
    incompatible: list[tuple[Msg, IncompatibleError]] = field(default_factory=list)
    """Not applied, because this writer cannot read them or has another model."""
    blocked: list[Msg] = field(default_factory=list)
    """Not applied, because they come after an incompatible one."""
    postponed: list[tuple[Msg, TemporaryError]] = field(default_factory=list)
    dead: list[tuple[Msg, PermanentError]] = field(default_factory=list)
