"""The lexical search runs while the question is embedded, and once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from helix_query.generations.snapshot import Snapshot
from helix_query.generations.warmup import warm
from helix_query.profile.intent import Intent
from helix_query.recall.channels.lexical import LexicalChannel
from helix_query.recall.context import RecallContext
from helix_query.recall.query import Query
from helix_query.recall.result import RecallResult
from helix_query.recall.stages.retrieve import prefetch
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.encoders.encoder import Encoder

from .asking import NOW, PROFILE, answered, lanes_of, opened

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def served(corpus_type: Any, encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """A few memories, ready to answer."""
    rows = [{"text": f"note {n} about the garden and src/app/loader.py"} for n in range(20)]
    with opened(corpus_type, encoder, tmp_path_factory.mktemp("ahead"), rows) as generation:
        yield warm(generation, encoder, profile=PROFILE, now=NOW)


@pytest.fixture
def lanes() -> Iterator[dict[str, ThreadPoolExecutor]]:
    """One pool a channel."""
    with lanes_of(1) as pools:
        yield pools


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The field weights of every search of the lexicon."""
    found: list[Any] = []
    search = LexiconReader.search

    def counted(reader: LexiconReader, *args: Any, **options: Any) -> Any:
        found.append(options["weights"])
        return search(reader, *args, **options)

    monkeypatch.setattr(LexiconReader, "search", counted)
    return found


def asked_over(
    lanes: dict[str, ThreadPoolExecutor], served: Snapshot, query: str, **options: Any
) -> RecallResult:
    """A recall of tenant acme."""
    context = RecallContext.of(Query(query, Selection("acme"), NOW, NOW, **options), served, PROFILE)
    return answered(context, lanes)


def test_the_search_runs_while_the_question_is_embedded(
    served: Snapshot, lanes: Any, searched: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for the other, which only works side by side."""
    meeting = threading.Barrier(2, timeout=10)
    embed, search = Encoder.embed_query_tokens, LexicalChannel.search

    def embedding(encoder: Encoder, text: str) -> Any:
        meeting.wait()
        return embed(encoder, text)

    def searching(*args: Any, **options: Any) -> Any:
        meeting.wait()
        return search(*args, **options)

    monkeypatch.setattr(Encoder, "embed_query_tokens", embedding)
    monkeypatch.setattr(LexicalChannel, "search", searching)
    answer = asked_over(lanes, served, "what about the garden")
    assert answer.degraded == ()
    assert set(answer.rows[0].channels) == {"dense", "lexical"}
    assert len(searched) == 1


def test_a_question_that_means_more_than_its_words_say_is_searched_again(
    served: Snapshot, lanes: Any, searched: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An intent by example may weigh the fields otherwise; the answer is that of the right weights."""
    monkeypatch.setattr(type(served.centroids), "near", lambda *_args, **_options: (Intent.EXACT_LOOKUP,))
    asked_over(lanes, served, "what about the garden")
    assert [weights.exact for weights in searched] == [1.0, 1.5]


def test_no_search_starts_that_is_not_wanted(served: Snapshot, lanes: Any, searched: list[Any]) -> None:
    """Mode dense needs no lexical search; with `as_of` it starts only after the past versions are read."""
    asked_over(lanes, served, "what about the garden", mode="dense")
    assert searched == []
    past = Query("what about the garden", Selection("acme", as_of=NOW - timedelta(days=1)), NOW, NOW)
    with prefetch(RecallContext.of(past, served, PROFILE), lanes) as prefetched:
        assert prefetched is None
    assert searched == []


@pytest.mark.parametrize("broken", [True, False])
def test_a_search_without_a_waiting_caller_is_cancelled(
    served: Snapshot, lanes: Any, searched: list[Any], monkeypatch: pytest.MonkeyPatch, *, broken: bool
) -> None:
    """A question that is skipped, or cannot be embedded, leaves no search in the queue of its lane."""
    go_on = threading.Event()
    lanes["lexical"].submit(go_on.wait, 30)
    if broken:

        def failing(_encoder: Encoder, _text: str) -> Any:
            raise RuntimeError("no model")

        monkeypatch.setattr(Encoder, "embed_query_tokens", failing)
        with pytest.raises(RuntimeError, match="no model"):
            asked_over(lanes, served, "what about the garden")
    else:
        assert asked_over(lanes, served, "what is 17 * 23").route.skip
    go_on.set()
    lanes["lexical"].submit(lambda: None).result(30)
    assert searched == []


def test_an_engine_that_fails_ahead_costs_its_candidates_only(
    served: Snapshot, lanes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it had failed in its own stage."""

    def failing(*_args: Any, **_options: Any) -> Any:
        raise RuntimeError("no index")

    monkeypatch.setattr(LexicalChannel, "search", failing)
    answer = asked_over(lanes, served, "what about the garden")
    assert answer.degraded == ("lexical",)
    assert {channel for row in answer.rows for channel in row.channels} == {"dense"}
