"""What GetStatus tells of a replica."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The bucket that a replica pulls from, and where it stands."""

    bucket: str
    newest: int
    """Number of the newest generation in the bucket, as this replica knows it; 0: none."""
    problem: str
    """Why it is not here; empty: it is, or it is being pulled."""
