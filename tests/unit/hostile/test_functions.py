"""The steps of the services as a whole, on the longest text that an event, a query or a file may hold."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import pytest

from helix_cli.sources.documents import markdown
from helix_doc2query.consumer import expansion_rows
from helix_ingest.extraction.acts.answered_question import answered_question
from helix_ingest.extraction.acts.sentences import sentences
from helix_ingest.extraction.acts.speech_act import speech_act
from helix_ingest.extraction.classify import classify
from helix_ingest.extraction.score import confidence, event_times, salience
from helix_ingest.extraction.segment import segment
from helix_ingest.extraction.values import LoggedEvent
from helix_kg.consumer import link_rows
from helix_memory import limits
from helix_memory.events import MessageEvent
from helix_query.profile.intent import Intent
from helix_query.recall.evidence.quotation import is_quotation
from helix_query.recall.recipes.rephrasing import rephrase
from helix_query.recall.routing.anchors import anchor_of
from helix_query.recall.routing.route import names_in
from helix_query.recall.routing.rules import intents_by_rule
from helix_query.recall.routing.skip import skip_reason
from helix_query.recall.routing.strip_times import strip_times
from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.artifacts.lexicon.exact_tokens import exact_tokens
from helix_shared.encoders.minhash import minhash
from helix_shared.identity import content_hash
from helix_shared.sources import cleaning, fitting
from helix_shared.timex import find_time_expressions, resolve_window

from .conftest import SHAPES

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
SESSION: Final = {"tenant_id": "t", "session_id": "s", "role": "user"}


def said(text: str) -> MessageEvent:
    """A turn."""
    return MessageEvent(event_id="e", text=text, **SESSION)


def row(text: str) -> dict[str, Any]:
    """The columns that doc2query and kg read."""
    return {
        "memory_id": "m",
        "text": text,
        "title": text[: limits.TITLE_CHARACTERS],
        "context": text,
        "speaker": text[: limits.NAME_CHARACTERS],
        "speech_act": "statement",
        "derived_from": "",
        "document_id": "",
        "categories": [text[: limits.NAME_CHARACTERS]],
    }


def chunked(text: str) -> object:
    """Pieces of about 250 tokens; the real tokenizer is linear and slow."""
    return segment(text, most_tokens=250, count_tokens=lambda part: len(part) // 4 + 1)


def routed(query: str) -> object:
    """What reading a query costs besides its vector."""
    reason = skip_reason(
        query,
        has_names=lambda text: bool(names_in(text)),
        has_time=lambda text: bool(find_time_expressions(text, NOW, limit=1)),
    )
    intents = intents_by_rule(query)
    words = (
        strip_times(query, NOW),
        rephrase(query, (Intent.PREFERENCE, Intent.TEMPORAL), most=8),
        stems(query),
    )
    return (
        reason,
        intents,
        names_in(query),
        anchor_of(query),
        resolve_window(query, NOW),
        is_quotation(query),
        words,
    )


def logged(text: str, sequence: int) -> LoggedEvent:
    """A turn of the log; each has a speaker of its own."""
    return LoggedEvent(said(text).model_copy(update={"speaker": str(sequence)}), sequence, NOW)


OF_A_TEXT: Final = {
    "type": lambda text: classify(said(text), text),
    "salience": lambda text: salience(text, "episodic"),
    "confidence": lambda text: confidence(said(text), text),
    "event times": lambda text: event_times(said(text), text, NOW),
    "signature": minhash,
    "speech act": lambda text: speech_act(said(text), text),
    "sentences": sentences,
    "question": lambda text: answered_question(logged("next April", 2), [logged(text, 1)]),
    "answer": lambda text: answered_question(logged(text, 2), [logged("When are you going?", 1)]),
    "pieces": chunked,
    "content hash": content_hash,
    "exact tokens": exact_tokens,
    "stems": stems,
    "time expressions": lambda text: find_time_expressions(text, NOW),
    "links": lambda text: link_rows(row(text)),
    "expansions": lambda text: expansion_rows(row(text)),
    "title of a file": lambda text: markdown.title_of(f"---\n{text}\n---\n{text}", "a"),
    "documents of a file": lambda text: markdown.contents(f"{text}\n{text}"),
    "cleaning": cleaning.cleaned,
}


@pytest.mark.parametrize("step", OF_A_TEXT)
def test_a_step_takes_linear_time_on_hostile_text(
    step: str, linear_functions: Any, mixtures_and_worst: Any
) -> None:
    """The longest text of an event, of every shape."""
    assert not linear_functions.failures(OF_A_TEXT[step], texts=mixtures_and_worst)


def test_reading_a_query_takes_linear_time(linear_functions: Any) -> None:
    """The longest query, of every shape; none takes half a second."""
    assert not linear_functions.failures(routed, texts=SHAPES, characters=limits.QUERY_CHARACTERS)


def test_a_line_of_64_megabytes_is_cut_in_linear_time(linear_functions: Any, mixtures: Any) -> None:
    """A line of a transcript may be that long; the rest of it is not copied for every piece."""
    assert not linear_functions.failures(fitting.pieces, characters=16_000_000, texts=mixtures[:1])
