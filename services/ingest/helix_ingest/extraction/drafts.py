"""Drafts of the memories of an event: one function per kind of event.

A turn gives its own memory at once, with the turns before it as context. It also gives a new revision of the
memory of the previous turn, whose context now includes the turn after it. Both are complete rows; the writer
keeps the later revision (ops/decisions/0005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from helix_ingest.extraction.acts.answered_question import answered_question, says_nothing
from helix_ingest.extraction.contextualise import (
    NEIGHBOUR_CHARACTERS,
    TURNS_BEFORE,
    WINDOW_CHARACTERS,
    neighbours,
    quotable,
)
from helix_ingest.extraction.derived_statement import DerivedStatement, derived_statement
from helix_ingest.extraction.documents.document import about_document, document_pieces
from helix_ingest.extraction.segment import segment
from helix_ingest.extraction.values import Draft, LoggedEvent, Piece
from helix_memory.events import (
    CorrectEvent,
    DocumentEvent,
    MemoryEvent,
    MessageEvent,
    SessionEvent,
    ToolEvent,
)
from helix_shared.audience import may_quote
from helix_shared.encoders.passages import before_piece, before_turn
from helix_shared.identity import memory_id
from helix_shared.text.flags import parts_of_keys

Cut = Callable[[str], list[Piece]]
NEAR_TURNS: Final = TURNS_BEFORE + 1
"""Earlier turns that a message always needs: two for itself, and one more for the previous turn."""
SESSION_TURNS: Final = 8
"""Earlier turns of the session in which the person that a pronoun means is looked for."""
CONTEXT_TURNS: Final = SESSION_TURNS + 1
"""Earlier turns that a message needs where a pronoun is in it or near it."""


def drafts_of(
    logged: LoggedEvent,
    before: Sequence[LoggedEvent],
    *,
    most_tokens: int,
    count_tokens: Callable[[str], int],
) -> list[Draft]:
    """Drafts of one event; `before` holds up to `CONTEXT_TURNS` earlier turns, oldest first.

    Raises:
        InvalidInputError: a document has no text that can be read.
    """

    def cut(text: str) -> list[Piece]:
        return segment(text, most_tokens=most_tokens, count_tokens=count_tokens)

    match logged.event:
        case MessageEvent():
            return [
                *_drafts_of_turn(logged, before[-SESSION_TURNS:], cut),
                *_revised_drafts(logged, before, cut),
            ]
        case ToolEvent() as event:
            beside = quotable(before[-1:], logged)
            context = neighbours(beside, most_characters=NEIGHBOUR_CHARACTERS)
            drafts = _drafts_of_pieces(logged, cut(tool_text(event)), title=event.file_path, context=context)
            return [replace(draft, quotes=_quoted(beside, logged)) for draft in drafts]
        case MemoryEvent() | CorrectEvent() as event:
            return _drafts_of_pieces(logged, cut(event.text), title=event.title)
        case DocumentEvent(deleted=False) as event:
            pieces = document_pieces(event, most_tokens=most_tokens, count_tokens=count_tokens)
            return _drafts_of_pieces(logged, pieces, title=event.title, context=about_document(event))
        case SessionEvent(phase="ended"):
            return _revised_drafts(logged, before, cut)
        case _:
            return []


def tool_text(event: ToolEvent) -> str:
    """A tool call and its result as one text: command, file, exit status, error, output."""
    head = f"{event.tool}: {event.command}" if event.command else event.tool
    parts = [
        head,
        f"file: {event.file_path}" if event.file_path else "",
        f"exit status: {event.exit_status}" if event.exit_status is not None else "",
        event.error.strip(),
        event.output.strip(),
    ]
    return "\n".join(part for part in parts if part)


def _drafts_of_turn(
    logged: LoggedEvent,
    before: Sequence[LoggedEvent],
    cut: Cut,
    *,
    after: LoggedEvent | None = None,
    answer: LoggedEvent | None = None,
    revision: int | None = None,
) -> list[Draft]:
    """Drafts of a turn, with the turns `before` it and, in a later revision, the turn `after` it.

    `answer` is the turn that answers it, if other turns stand in between.

    Only this function adds turns to the memory of another turn, so it removes those that may not be quoted.
    A turn of one piece that answers a question also gives a derived statement, numbered after its piece.
    """
    event = logged.event
    if not isinstance(event, MessageEvent):
        return []
    question = answered_question(logged, before)
    session = quotable(before, logged)
    just_before = next(iter(quotable(before[-1:], logged)), None)
    before = quotable(before[-TURNS_BEFORE:], logged)
    after = next(iter(quotable([after] if after else [], logged)), None)
    pieces = cut(event.text)
    above = neighbours(before, most_characters=NEIGHBOUR_CHARACTERS)
    below = neighbours([after] if after else [], most_characters=NEIGHBOUR_CHARACTERS)
    answers = _piece_id(question.asked, cut, question.start) if question else ""
    answer = answer or after
    answered = _answered_at(logged, answer, pieces)
    windowed = revision is not None and len(pieces) == 1

    def window(passage: str) -> str:
        return _turn_window(before, passage, after) if windowed else ""

    keyed = parts_of_keys([piece.text for piece in pieces])
    drafts = []
    for n, piece in enumerate(pieces):
        around = (
            above if n == 0 else pieces[n - 1].text,
            below if n == len(pieces) - 1 else pieces[n + 1].text,
        )
        passage = before_turn(event.speaker, event.role) + piece.shown
        drafts.append(
            Draft(
                logged=logged,
                piece=n,
                text=piece.shown,
                title="",
                context="\n".join(text for text in around if text),
                char_start=piece.start,
                char_end=piece.end,
                passage=passage,
                window=window(passage),
                revision_sequence=revision or logged.sequence,
                answers=answers if n == 0 else "",
                answered_by=_id(answer, 0) if answer and n == answered else "",
                quotes=_quoted([*before, *([after] if after else [])], logged),
                is_key_part=n in keyed,
            )
        )
    if len(drafts) == 1 and (statement := derived_statement(logged, question, session, just_before)):
        read = _quoted([*session, *([after] if after else [])], logged)
        drafts += [
            replace(draft, quotes=read)
            for draft in _drafts_of_statement(drafts[0], event, statement, cut, window)
        ]
    return drafts


def _quoted(turns: Sequence[LoggedEvent], quoting: LoggedEvent) -> tuple[str, ...]:
    """Ids of the events of `turns`, without that of the quoting event."""
    ids = dict.fromkeys(turn.event.event_id for turn in turns)
    ids.pop(quoting.event.event_id, None)
    return tuple(ids)


def _drafts_of_statement(
    verbatim: Draft,
    event: MessageEvent,
    statement: DerivedStatement,
    cut: Cut,
    window: Callable[[str], str],
) -> list[Draft]:
    """The derived statement beside a verbatim memory; none if it is longer than a piece.

    Its neighbours are those of the verbatim memory, which is searched with them; `window` puts a passage
    between them. It was made of the turns of the session that it may quote, so it counts as a quotation of
    each of them.
    """
    if len(cut(statement.text)) > 1:
        return []
    passage = before_turn(event.speaker, event.role) + statement.embedded
    return [
        replace(
            verbatim,
            piece=verbatim.piece + 1,
            text=statement.text,
            spoken=verbatim.text,
            context="",
            window=window(passage),
            passage=passage,
            derived_from=_id(verbatim.logged, verbatim.piece),
        )
    ]


def _answered_at(logged: LoggedEvent, after: LoggedEvent | None, pieces: Sequence[Piece]) -> int | None:
    """Number of the piece whose question the turn `after` answers."""
    question = answered_question(after, [logged]) if after and may_quote(after.scope, logged.scope) else None
    return _piece_at(pieces, question.start) if question else None


def _piece_id(logged: LoggedEvent, cut: Cut, start: int) -> str:
    """Id of the memory that holds the character `start` of a turn."""
    return _id(logged, _piece_at(cut(getattr(logged.event, "text", "")), start))


def _piece_at(pieces: Sequence[Piece], start: int) -> int:
    return max((n for n, piece in enumerate(pieces) if piece.start <= start), default=0)


def _id(logged: LoggedEvent, piece: int) -> str:
    return memory_id(logged.event.tenant_id, logged.event.event_id, piece)


def _turn_window(before: Sequence[LoggedEvent], passage: str, after: LoggedEvent | None) -> str:
    parts = [
        neighbours(before, most_characters=WINDOW_CHARACTERS),
        passage,
        neighbours([after] if after else [], most_characters=WINDOW_CHARACTERS),
    ]
    surrounded = [part for part in parts if part]
    return "\n".join(surrounded) if len(surrounded) > 1 else ""


def _revised_drafts(logged: LoggedEvent, before: Sequence[LoggedEvent], cut: Cut) -> list[Draft]:
    """New revisions of the memories of the previous turn that `logged`, the turn after it, changes.

    These are its last piece, its derived statement, and the piece with the question that `logged` answers,
    which may also stand a few turns earlier.
    """
    if not before or not logged.event.session_id:
        return []
    after = logged if isinstance(logged.event, MessageEvent) else None
    drafts = _drafts_of_turn(
        before[-1], before[:-1][-SESSION_TURNS:], cut, after=after, revision=logged.sequence
    )
    last = max((draft.piece for draft in drafts if not draft.derived_from), default=0)
    kept = [draft for draft in drafts if draft.piece == last or draft.derived_from or draft.answered_by]
    return kept + _answered_earlier(logged, before, cut)


def _answered_earlier(logged: LoggedEvent, before: Sequence[LoggedEvent], cut: Cut) -> list[Draft]:
    """The piece with the question that `logged` answers, where other turns stand in between."""
    question = answered_question(logged, before)
    at = next((n for n, turn in enumerate(before[:-1]) if question and turn is question.asked), None)
    if at is None or not any(says_nothing(turn.event) for turn in before[at + 1 :]):
        # behind a tool alone, the turns before the question may not have been read
        return []
    earlier = before[:at][-SESSION_TURNS:]
    drafts = _drafts_of_turn(
        before[at], earlier, cut, after=before[at + 1], answer=logged, revision=logged.sequence
    )
    return [draft for draft in drafts if draft.answered_by]


def _drafts_of_pieces(
    logged: LoggedEvent, pieces: Sequence[Piece], *, title: str, context: str = ""
) -> list[Draft]:
    """Drafts of a text without neighbouring turns; neighbouring pieces are the context of a piece."""
    keyed = parts_of_keys([piece.text for piece in pieces])
    drafts = []
    for n, piece in enumerate(pieces):
        beside = (*pieces[max(0, n - 1) : n], *pieces[n + 1 : n + 2])
        around = (context, piece.heading, *(neighbour.text for neighbour in beside))
        heading = " > ".join(part for part in (title, piece.heading) if part)
        drafts.append(
            Draft(
                logged=logged,
                piece=n,
                text=piece.shown,
                title=title,
                context="\n".join(line[:NEIGHBOUR_CHARACTERS] for line in around if line),
                char_start=piece.start,
                char_end=piece.end,
                passage=before_piece(heading) + piece.shown,
                window="",
                revision_sequence=logged.sequence,
                is_key_part=n in keyed,
            )
        )
    return drafts
