"""Where the nodes of a graph stand: rings around the middle, the children of a node side by side.

The same graph always has the same picture. A node of the second ring stands near the one that it hangs on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ROOM: Final = 15.0
"""Along a ring, of one node with its label."""
LEAST_RING: Final = 140.0
BETWEEN: Final = 180.0
"""Rings, which is the length of a label."""
MARGIN: Final = 165.0


@dataclass(frozen=True, slots=True)
class Place:
    """Of a node: coordinates from the middle, and the direction of its label in degrees."""

    x: float
    y: float
    angle: float
    is_left: bool
    """Whether its label must be turned to be read."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of the nodes, in their order, and half of the side of the picture."""

    places: Sequence[Place]
    radius: float


def rings(hops: Sequence[int], edges: Sequence[tuple[int, int]]) -> Layout:
    """Places for nodes with these distances from the middle, which comes first."""
    parents = _parents(hops, edges)
    order = _order(hops, parents)
    radii = _radii(hops)
    angles = {
        node: 360.0 * (place + 0.5 * hop) / len(ring)
        for hop, ring in order.items()
        for place, node in enumerate(ring)
    }
    places = [_place(radii[hop], angles.get(node, 0.0)) for node, hop in enumerate(hops)]
    return Layout(places, max(radii.values()) + MARGIN)


def _parents(hops: Sequence[int], edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    """For each node its first neighbour that is nearer to the middle."""
    parents: dict[int, int] = {}
    for one, other in edges:
        for child, parent in ((one, other), (other, one)):
            if hops[parent] == hops[child] - 1:
                parents.setdefault(child, parent)
    return parents


def _order(hops: Sequence[int], parents: Mapping[int, int]) -> dict[int, list[int]]:
    """The nodes of each ring, those of the first by their order, the others by that of their parents."""
    order: dict[int, list[int]] = {}
    places: dict[int, int] = {}
    for hop in sorted(set(hops) - {0}):
        nodes = [node for node, at in enumerate(hops) if at == hop]
        order[hop] = sorted(nodes, key=lambda node: (places.get(parents.get(node, 0), 0), node))
        places |= {node: place for place, node in enumerate(order[hop])}
    return order


def _radii(hops: Sequence[int]) -> dict[int, float]:
    radii, least = {0: 0.0}, LEAST_RING
    for hop in sorted(set(hops) - {0}):
        needed = hops.count(hop) * ROOM / (2 * math.pi)
        radii[hop] = max(least, needed)
        least = radii[hop] + BETWEEN
    return radii


def _place(radius: float, angle: float) -> Place:
    turned = math.radians(angle)
    is_left = 90 < angle % 360 < 270  # noqa: PLR2004  degrees
    return Place(
        round(radius * math.cos(turned), 1),
        round(radius * math.sin(turned), 1),
        round(angle - 180 if is_left else angle, 1),
        is_left,
    )
