"""Whether the graph improves recall for one caller, measured without judgements (`helix status --deep`).

Questions made of two memories that share a name (`pair_questions`) are recalled as questions of several hops,
with the graph and without it, and the share of the two memories among the first `DEPTH` is compared. Beside
it: how many memories the graph links, and what it changes for the questions that the tenant's own memories
ask, routed as they are. Only memories that the caller may see are read. Bounded by `seconds`.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from helix_memory import limits
from helix_query.diagnostics.pair_questions import FORMS, PairQuestion, pair_questions
from helix_query.profile.intent import Intent
from helix_query.profile.overrides import with_constants
from helix_query.recall.candidates import GRAPH
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.query import Query
from helix_query.recall.recall import recall
from helix_query.recall.stages.embed import embed
from helix_query.recall.visibility import Visibility
from helix_query.scheduling.lazy import Lazy
from helix_query.scheduling.worker_threads import WorkerThreads
from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.artifacts.signals.columns import code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.result import RecallResult
    from helix_shared.artifacts.filter.selection import Selection

MEMORIES_READ: Final = 2_000
"""Memories of the tenant that are read, evenly spread; those that the caller may not see are left out."""
QUESTIONS: Final = 60
"""Pairs asked for at most in each form, and questions of the tenant's own."""
MIN_PAIRS: Final = 30
"""With fewer pairs asked for in a form, there is no verdict."""
DEPTH: Final = 10
WITHOUT_COMPARISONS: Final = {"rerank.candidates": 0}
"""Both ways without late interaction: its gains follow the spread of the scores, which a walk changes even
where nothing is linked, so the difference would not be of the graph alone."""
CHANNEL_SECONDS: Final = 10.0
SECONDS: Final = 30.0
FORM_SHARE: Final = 0.4
"""Share of the time for each form of pairs; the rest is for the tenant's own questions."""
RESAMPLES: Final = 2_000
SEED: Final = 20_260_101

Verdict = Literal["helps", "does not matter", "hurts", "unknown"]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the graph holds of the visible memories that were read; shares are 0 to 1."""

    memories: int
    with_entity: float
    """Linked to at least one entity."""
    with_link: float
    """Linked to at least one other memory."""


@dataclass(frozen=True, slots=True)
class PairRecall:
    """Share of the two memories of each question among the first `DEPTH`, 0 to 1; paired difference."""

    questions: int
    with_graph: float
    without_graph: float
    difference: float
    low: float
    high: float
    """95 % bootstrap interval of the difference."""
    graph_only: float
    """Share of the questions with a memory among the first that nothing but the graph found."""
    verdict: Verdict
    """What the interval says; unknown with fewer than `MIN_PAIRS` questions."""


@dataclass(frozen=True, slots=True)
class OwnQuestions:
    """Questions that memories of the tenant ask, recalled as the ranking profile routes them."""

    questions: int
    several_hops: int
    """Routed as questions of several hops."""
    changed: int
    """The first `DEPTH` differ with the graph."""


@dataclass(frozen=True, slots=True)
class GraphCheck:
    """The effect of the graph for one caller."""

    tenant_id: str
    coverage: Coverage
    pairs: dict[str, PairRecall]
    """By form of the question (`FORMS`); a form without a question is not in it."""
    own: OwnQuestions
    sentence: str
    """Whether the graph helps, with the figures that say so."""


def check_graph(
    snapshot: Snapshot, profile: RankingProfile, selection: Selection, *, seconds: float = SECONDS
) -> GraphCheck:
    """Measure for one caller on one generation; ends after about `seconds` with what was measured by then."""
    until, clock = time.monotonic() + seconds, datetime.now(UTC)
    ordinals = _visible(snapshot, selection, clock)
    lines = [line for line in snapshot.generation.signals.records(ordinals) if selection.admits(line)]
    with ExitStack() as held:
        lanes = {channel: WorkerThreads(1, name=f"check-{channel}") for channel in LANES}
        for lane in lanes.values():
            held.callback(lane.shutdown, wait=False)
        plain = with_constants(profile, WITHOUT_COMPARISONS)
        bare = with_constants(plain, {"expand.enabled": False})
        arms = _GraphComparison(snapshot, plain, bare, selection, clock, lanes)
        pairs = {}
        for form, words in FORMS.items():
            end = time.monotonic() + seconds * FORM_SHARE
            if (found := _pair_recall(arms, pair_questions(lines, words, count=QUESTIONS), end)) is not None:
                pairs[form] = found
        own = _own_questions(arms, lines, until=until)
    sentence = _sentence(selection.tenant_id, pairs, own)
    return GraphCheck(selection.tenant_id, _coverage(snapshot, ordinals), pairs, own, sentence)


@dataclass(frozen=True, slots=True)
class _GraphComparison:
    """Recalls one text with the graph and without it, everything else equal."""

    snapshot: Snapshot
    profile: RankingProfile
    without_graph: RankingProfile
    selection: Selection
    clock: datetime
    lanes: Mapping[str, Executor]

    def ask(self, text: str, *intents: Intent) -> tuple[RecallResult, RecallResult]:
        """With and without; `intents` replace those that the words show."""
        query = Query(text, self.selection, self.clock, self.clock, top_k=DEPTH, never_skip=True)
        context = RecallContext.of(query, self.snapshot, self.profile)
        if intents:
            context = replace(context, rule_intents=Lazy(lambda: intents))
        bare = replace(context, profile=self.without_graph)
        answer = partial(
            recall, lanes=self.lanes, channel_deadline_seconds=CHANNEL_SECONDS, embedded=embed(context)
        )
        return answer(context), answer(bare)


def _visible(snapshot: Snapshot, selection: Selection, clock: datetime) -> NDArray[np.int64]:
    signals = snapshot.generation.signals
    sample = signals.tenant_sketches.sample(code(selection.tenant_id), MEMORIES_READ)
    visible = Visibility.of(snapshot.generation, selection, clock).is_visible(sample)
    found: NDArray[np.int64] = sample[visible][:MEMORIES_READ]
    return found


def _coverage(snapshot: Snapshot, ordinals: NDArray[np.int64]) -> Coverage:
    edges = snapshot.generation.graph.edges_of(ordinals)
    owners = np.repeat(np.arange(len(ordinals)), edges.counts)
    to_entity = edges.targets >= ENTITIES_FROM
    count = len(ordinals)
    entity, memory = (len(np.unique(owners[chosen])) / (count or 1) for chosen in (to_entity, ~to_entity))
    return Coverage(count, entity, memory)


def _pair_recall(
    arms: _GraphComparison, questions: Sequence[PairQuestion], until: float
) -> PairRecall | None:
    shares: list[tuple[float, float]] = []
    graph_only = 0
    for question in questions:
        if time.monotonic() > until:
            break
        answers = arms.ask(question.text, Intent.MULTI_HOP)
        wanted = _turns(arms.snapshot, question.memories)
        found = [_turns(arms.snapshot, [row.row["ordinal"] for row in one.rows]) for one in answers]
        shares.append((len(wanted & found[0]) / len(wanted), len(wanted & found[1]) / len(wanted)))
        graph_only += any(row.channels == (GRAPH,) for row in answers[0].rows)
    if not shares:
        return None
    with_graph, without = np.mean(shares, axis=0).tolist()
    count, (low, high) = len(shares), _interval(np.array([ours - theirs for ours, theirs in shares]))
    return PairRecall(
        count,
        with_graph,
        without,
        with_graph - without,
        low,
        high,
        graph_only / count,
        _verdict(count, low, high),
    )


def _turns(snapshot: Snapshot, ordinals: Sequence[int]) -> set[int]:
    """Codes of the verbatim memories: a derived statement stands for the turn it was derived from."""
    codes: list[int] = snapshot.generation.signals.source_code[np.array(ordinals, np.int64)].tolist()
    return set(codes)


def _interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Percentile bootstrap of the mean (Efron and Tibshirani 1993, section 13.3)."""
    drawn = np.random.default_rng(SEED).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975)).tolist()
    return low, high


def _own_questions(
    arms: _GraphComparison, lines: Sequence[Mapping[str, Any]], *, until: float
) -> OwnQuestions:
    asked = [line["text"] for line in lines if line["speech_act"] == "question"]
    count = several = changed = 0
    for text in _evenly_spread(dict.fromkeys(asked)):
        if time.monotonic() > until:
            break
        with_graph, without = arms.ask(text[: limits.QUERY_CHARACTERS])
        count += 1
        several += Intent.MULTI_HOP in with_graph.route.intents
        changed += _ids(with_graph) != _ids(without)
    return OwnQuestions(count, several, changed)


def _evenly_spread(texts: Mapping[str, None]) -> Iterator[str]:
    every = list(texts)
    return iter(every[:: max(1, -(-len(every) // QUESTIONS))])


def _ids(result: RecallResult) -> list[str]:
    return [row.row["memory_id"] for row in result.rows]


def _verdict(questions: int, low: float, high: float) -> Verdict:
    if questions < MIN_PAIRS:
        return "unknown"
    if low > 0:
        return "helps"
    return "hurts" if high < 0 else "does not matter"


def _sentence(tenant_id: str, pairs: Mapping[str, PairRecall], own: OwnQuestions) -> str:
    if own.questions >= MIN_PAIRS and not own.changed:
        return (
            f"the graph does not matter for {tenant_id}: it changes the first {DEPTH} of none of the "
            f"{own.questions} questions that its memories ask"
        )
    judged = [pairs[form] for form in ("hinted", "described") if form in pairs]
    if len(judged) < len(FORMS) or any(one.verdict == "unknown" for one in judged):
        count = min((one.questions for one in judged), default=0)
        return (
            f"no verdict for {tenant_id}: {count} questions could be made of two memories that share a name, "
            f"{MIN_PAIRS} are needed"
        )
    hinted, described = map(_pair_recall_text, judged)
    return (
        f"for {tenant_id} the graph {hinted} where a question of several hops hardly describes the second "
        f"memory, and {described} where it describes both"
    )


def _pair_recall_text(found: PairRecall) -> str:
    change, low, high = (f"{100 * value:+.1f}" for value in (found.difference, found.low, found.high))
    return (
        f"{found.verdict} ({found.without_graph:.1%} found without it, {found.with_graph:.1%} with it: "
        f"{change} points, 95 % interval {low} to {high}, {found.questions} questions)"
    )
