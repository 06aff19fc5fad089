"""Fills the messages of a user's profile; values are copied, nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_memory.recall.v1 import recall_pb2
from helix_query.generations.indexes.facet_index import STATIC

if TYPE_CHECKING:
    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.user_profile.lines import ProfileLine, UserProfile


def profile_response(
    profile: UserProfile, snapshot: Snapshot, *, min_sequence: int
) -> recall_pb2.GetProfileResponse:
    """The reply to GetProfile."""
    return recall_pb2.GetProfileResponse(
        profile=profile_message(profile),
        generation=snapshot.number,
        applied_sequence=snapshot.applied_sequence,
        stale=snapshot.is_stale(min_sequence),
    )


def profile_message(profile: UserProfile) -> recall_pb2.Profile:
    """A profile as a message."""
    return recall_pb2.Profile(
        lines=map(_line, profile.lines), text=profile.text, tokens=profile.tokens, left_out=profile.left_out
    )


def _line(line: ProfileLine) -> recall_pb2.ProfileLine:
    shown = line.said.statement
    is_static = shown.part is STATIC
    message = recall_pb2.ProfileLine(
        text=line.text,
        part=recall_pb2.PROFILE_PART_STATIC if is_static else recall_pb2.PROFILE_PART_DYNAMIC,
        facets=shown.facets,
        memory_ids=line.said.memory_ids,
        speaker=shown.speaker,
        score=shown.score,
        tokens=line.tokens,
    )
    message.occurred_at.FromDatetime(shown.occurred_at)
    return message
