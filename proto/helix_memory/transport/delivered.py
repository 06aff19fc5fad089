"""Messages as nats-py delivers them, whatever their publisher wrote into subject and headers.

nats-py takes a `Status` header for the end or the failure of a fetch. A stored message may have one: fetches
then fail, with a `KeyError` at the worst, and the message is delivered again for ever. A subject or a first
line of the headers that is not UTF-8 ends its read loop: the connection stays open and nothing is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from nats.aio.msg import Msg

if TYPE_CHECKING:
    from nats.aio.client import Client

STATUS: Final = "Status"
SEQUENCE: Final = "Nats-Sequence"
"""A direct get has it in its reply with a message."""
_DELIVERED: Final = "$JS.ACK."
"""Beginning of the reply subject of a stored message; a status of the server has no such subject."""


@dataclass
class DeliveredMsg(Msg):
    """A message; a stored one has no `Status`."""

    def __post_init__(self) -> None:
        is_stored = self.reply.startswith(_DELIVERED) or SEQUENCE in (self.headers or {})
        if self.headers and STATUS in self.headers and is_stored:
            self.headers = {name: value for name, value in self.headers.items() if name != STATUS}


def deliver_all(client: Client) -> None:
    """Let `client` deliver messages with any headers and subject; call it before the first subscription.

    Headers that cannot be read are left out, and bytes of a subject that are not UTF-8 become U+FFFD.
    """
    parsed, build = client._process_headers, client._build_message  # noqa: SLF001  no public hook

    async def headers_of(raw: Any) -> dict[str, str] | None:
        try:
            return await parsed(raw)
        except (ValueError, IndexError):
            return None

    def message_of(sid: int, subject: bytes, reply: bytes, data: bytes, headers: Any) -> Msg | None:
        built: Msg | None = build(sid, _valid(subject), _valid(reply), data, headers)
        return built

    client.msg_class = DeliveredMsg
    vars(client).update(_process_headers=headers_of, _build_message=message_of)


def _valid(name: bytes) -> bytes:
    return name if name.isascii() else bytes(name).decode("utf-8", "replace").encode()
