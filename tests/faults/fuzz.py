"""Hostile events and requests, made from a seed: the n-th of a seed is always the same."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from helix_memory.recall.v1 import recall_pb2

TEXTS: Final = (
    "",
    " \n\t",
    "\x00",
    "\u202eevil\u202c",
    "\u200b\ufeff",
    "e\u0301" * 50,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\ud800",
    "' OR 1=1 --",
    '"' * 200,
    "(" * 3_000,
    "[" * 3_000,
    "NOT " * 500,
    "tenant:* AND *",
    "../../etc/passwd",
    "{{7*7}}${x}",
    "A " * 2_000,
    "x" * 4_096,
    "x" * 4_097,
    "9" * 400,
    "between 1 and last week",
    "2026-02-30T25:61:61Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
)
NUMBERS: Final = (0, -1, 1, 2**31 - 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, 1e308, -0.0, 5e-324)
ENDLESS: Final = (float("nan"), float("inf"), float("-inf"))
PROSE: Final = ("text", "title", "command", "output", "error", "query")
"""Fields of events that hold free text."""
UINT32: Final = (0, 1, 10, 200, 201, 100_000, 100_001, 2**31 - 1, 2**32 - 1)


def text_of(dice: random.Random) -> str:
    """A hostile text, a mixture of several, or code points of everywhere."""
    which = dice.random()
    if which < 0.5:
        return dice.choice(TEXTS)
    if which < 0.7:
        return " ".join(dice.choice(TEXTS)[:400] for _ in range(dice.randrange(2, 6)))
    return "".join(chr(dice.randrange(1, 0x110000)) for _ in range(dice.randrange(1, 60)))


def value_of(dice: random.Random, depth: int = 0) -> Any:
    """A JSON value of any type."""
    made: tuple[Callable[[], Any], ...] = (
        lambda: text_of(dice),
        lambda: dice.choice(NUMBERS),
        lambda: dice.choice(ENDLESS),
        lambda: dice.choice((None, True, False)),
        lambda: [value_of(dice, depth + 1) for _ in range(dice.randrange(4))],
        lambda: {text_of(dice)[:80]: value_of(dice, depth + 1) for _ in range(dice.randrange(4))},
    )
    return dice.choice(made if depth < 4 else made[:4])()


def damaged(dice: random.Random, body: bytes) -> bytes:
    """The bytes cut off, with a byte changed, or replaced by other ones."""
    which = dice.randrange(4)
    if which == 0 or not body:
        return body[: dice.randrange(len(body) + 1)]
    if which == 1:
        at = dice.randrange(len(body))
        return body[:at] + dice.randbytes(1) + body[at + 1 :]
    return dice.randbytes(dice.randrange(200)) if which == 2 else b"[" * dice.randrange(5_000)


def event_body(dice: random.Random, valid: Mapping[str, Any], fields: tuple[str, ...]) -> bytes:
    """The JSON body of a valid event; half get one hostile text, most of which are read, the others more."""
    event = dict(valid)
    if dice.random() < 0.5:
        texts = [name for name in PROSE if name in event]
        return json.dumps(event | {dice.choice(texts): text_of(dice)} if texts else event).encode()
    for _ in range(dice.randrange(1, 4)):
        field = dice.choice(fields) if dice.random() < 0.95 else text_of(dice)[:80]
        event[field] = text_of(dice) if dice.random() < 0.6 else value_of(dice)
    if dice.random() < 0.2:
        event.pop(dice.choice(fields), None)
    body = json.dumps(event, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
    return damaged(dice, body) if dice.random() < 0.15 else body


def recall_body(dice: random.Random) -> bytes:
    """The bytes of a recall request with hostile fields, some of them damaged."""
    request = recall_pb2.RecallRequest(query=_wire(dice))
    request.scope.tenant_id = "acme" if dice.random() < 0.85 else _wire(dice)
    fuzzed: tuple[Callable[[], Any], ...] = (
        lambda: setattr(request.scope, "user_id", _wire(dice)),
        lambda: request.scope.principals.extend(_wire(dice) for _ in range(dice.choice((1, 64, 65)))),
        lambda: setattr(request, "top_k", dice.choice(UINT32)),
        lambda: setattr(request, "token_budget", dice.choice(UINT32)),
        lambda: setattr(request, "ranking_profile", _wire(dice)),
        lambda: setattr(request, "project_id", _wire(dice)),
        lambda: setattr(request, "mode", dice.randrange(-3, 9)),
        lambda: setattr(request.now, "seconds", dice.choice((0, -(2**63), 2**63 - 1, 253402300800))),
        lambda: setattr(request.filter.event_after, "nanos", dice.choice((-1, 10**9, 2**31 - 1))),
        lambda: request.filter.types.append(_wire(dice)),
        lambda: request.filter.session_ids.append(_wire(dice)),
        lambda: request.filter.flags.append(_wire(dice)),
        lambda: request.filter.exclude_flags.append(_wire(dice)),
    )
    for change in dice.sample(fuzzed, dice.randrange(4)):
        change()
    body = request.SerializeToString()
    return damaged(dice, body) if dice.random() < 0.1 else body


def _wire(dice: random.Random) -> str:
    """A hostile text that protobuf can hold."""
    return text_of(dice).encode("utf-8", "replace").decode()
