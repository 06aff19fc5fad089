"""A key that gives every event a key of its own, and can forget the keys of some of them for good.

A binary tree of keys over all sequences of the log: the keys of the two halves of a range follow from the key
of the range (Goldreich, Goldwasser and Micali, "How to construct random functions", 1986). What is kept is a
few nodes from which the keys below follow. To forget a range, a node that covers it is replaced by the nodes
beside it. No remaining node leads to the forgotten keys, so what they encrypted cannot be read any more.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import Final, Self

from helix_shared.errors import CorruptArtifactError

LEVELS: Final = 48
"""The tree covers sequences below 2 ** 48."""
KEY_BYTES: Final = 32
_HEAD_BYTES: Final = 7
_NODE_BYTES: Final = _HEAD_BYTES + KEY_BYTES


@dataclass(slots=True)
class KeyTree:
    """The nodes that are left: keys by level (0 is the root) and the first bits of the sequences below."""

    nodes: dict[tuple[int, int], bytes]

    @classmethod
    def fresh(cls) -> Self:
        """A key that has every event."""
        return cls({(0, 0): secrets.token_bytes(KEY_BYTES)})

    def key_of(self, sequence: int) -> bytes | None:
        """The key of one event, 32 bytes; None where it is forgotten."""
        for level in range(LEVELS + 1):
            key = self.nodes.get((level, sequence >> (LEVELS - level)))
            if key is None:
                continue
            for below in range(level + 1, LEVELS + 1):
                key = _half(key, sequence >> (LEVELS - below) & 1)
            return key
        return None

    def forget(self, first: int, last: int) -> bool:
        """Forget the keys of the events `first` to `last`; returns whether one of them was there.

        A single event costs some microseconds, a range as much as there are nodes.
        """
        if first == last:
            return self._forget_one(first)
        left: dict[tuple[int, int], bytes] = {}
        waiting, is_changed = list(self.nodes.items()), False
        while waiting:
            (level, prefix), key = waiting.pop()
            begin = prefix << (LEVELS - level)
            end = begin + (1 << (LEVELS - level)) - 1
            if end < first or begin > last:
                left[level, prefix] = key
                continue
            is_changed = True
            if not (first <= begin and end <= last):
                waiting += [((level + 1, prefix << 1 | bit), _half(key, bit)) for bit in (0, 1)]
        self.nodes = left
        return is_changed

    def _forget_one(self, sequence: int) -> bool:
        """The only node above it, if there is one, is replaced by those beside the way to it."""
        for level in range(LEVELS + 1):
            key = self.nodes.pop((level, sequence >> (LEVELS - level)), None)
            if key is None:
                continue
            for below in range(level + 1, LEVELS + 1):
                prefix = sequence >> (LEVELS - below)
                self.nodes[below, prefix ^ 1] = _half(key, (prefix ^ 1) & 1)
                key = _half(key, prefix & 1)
            return True
        return False

    def to_bytes(self) -> bytes:
        """The nodes one after another."""
        return b"".join(
            bytes([level]) + prefix.to_bytes(_HEAD_BYTES - 1, "big") + key
            for (level, prefix), key in sorted(self.nodes.items())
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The inverse of `to_bytes`.

        Raises:
            CorruptArtifactError: it has another length.
        """
        if len(content) % _NODE_BYTES:
            raise CorruptArtifactError("the nodes of a key are damaged")
        parts = [content[at : at + _NODE_BYTES] for at in range(0, len(content), _NODE_BYTES)]
        return cls({(one[0], int.from_bytes(one[1:_HEAD_BYTES], "big")): one[_HEAD_BYTES:] for one in parts})


def _half(key: bytes, bit: int) -> bytes:
    """The key of the left (0) or right (1) half of a range."""
    return hmac.digest(key, bytes([bit]), "sha256")
