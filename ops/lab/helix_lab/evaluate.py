"""The body of `helix-lab eval`: every set with every ranking profile, answers kept, one report."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

import helix_query
from helix_lab.measures.figures import linkage_figures
from helix_lab.measures.linkage import linkage
from helix_lab.ranking_profiles import known_profiles, profile_folder
from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.build import PACKAGES, code_digest, corpus_key
from helix_lab.sets.data import EvaluationSet, Question
from helix_lab.sets.direct import DirectCorpus, build_direct, open_direct, open_graph
from helix_lab.sets.inventory import take_inventory
from helix_lab.sets.packs import BUDGETS
from helix_lab.sets.runs import RunFile
from helix_lab.sets.stream import Loading, open_stream
from helix_query.profile.profile import RankingProfile
from helix_shared.encoders.model import read_card, read_reranker_card
from helix_shared.encoders.store import default_model, reranker_folder
from helix_shared.errors import PermanentError

DIRECT: Final = "direct"
STREAM: Final = "stream"
Way = Literal["direct", "stream"]


class Corpus(Protocol):
    """A set that can be asked, on either path."""

    def ask(self, question: Question, profile: str, *, top_k: int) -> Answer:
        """Answer one question."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How sets are asked; `home` keeps corpora, vectors and runs from one call to the next."""

    home: Path
    models: Path
    path: Way
    top_k: int
    own_profiles: Path | None = None
    loading: Loading = Loading()  # noqa: RUF009 - frozen, so one default serves all
    fresh: bool = False

    def runs(
        self, data: EvaluationSet, profiles: Mapping[str, RankingProfile], console: Console
    ) -> list[Run]:
        """One run per profile, in their order."""
        files = [self.kept(data, profile) for profile in profiles.values()]
        for file in files if self.fresh else ():
            file.forget()
        if any(file.missing for file in files):
            with progress_bar(console) as progress, self._open(data, progress) as corpus:
                for name, file in zip(profiles, files, strict=True):
                    self._ask(corpus, name, file, progress)
        return [file.run for file in files]

    def linkage(self, data: EvaluationSet, profile: RankingProfile) -> dict[str, Any] | None:
        """Gold-pair linkage of the graph of the corpus built for the direct path, in the form of the report.

        None on the stream path, and where no question has two relevant documents.
        """
        built = open_graph(data, self.home, self.models) if self.path == DIRECT else None
        if built is None:
            return None
        found = linkage(data, *built, hub_cap=profile.expand.hub_cap)
        return None if found is None else linkage_figures(found)

    def kept(self, data: EvaluationSet, profile: RankingProfile) -> RunFile:
        """The answers that are kept of such runs."""
        inputs = (
            corpus_key(data, read_card(default_model(self.models)).checksum),
            code_digest((helix_query,)),
            profile.model_dump_json(),
            _reranker_id(self.models, profile),
            f"{self.path} {self.loading} {self.top_k} {BUDGETS}",
            *(_settings() if self.path == STREAM else ()),
        )
        return RunFile(self.home / "runs", data, profile.name, inputs=inputs)

    @contextlib.contextmanager
    def _open(self, data: EvaluationSet, progress: Progress) -> Iterator[Corpus]:
        if self.path == DIRECT:
            with opened(data, self, progress) as corpus:
                yield corpus
        else:
            with self._stream(data, progress.console.print) as published:
                yield published

    @contextlib.contextmanager
    def _stream(self, data: EvaluationSet, say: Callable[[str], None]) -> Iterator[Corpus]:
        with (
            profile_folder(self.own_profiles) as folder,
            open_stream(data, self.models, folder, loading=self.loading) as corpus,
        ):
            killed = "; one of each worker and the writer were killed half way" if self.loading.crash else ""
            say(f"{data.name}: {corpus.published} published, recallable after {corpus.seconds:.0f} s{killed}")
            say(f"{data.name}: {take_inventory(data, corpus.client)}")
            yield corpus

    def _ask(self, corpus: Corpus, profile: str, file: RunFile, progress: Progress) -> None:
        task = progress.add_task(f"{file.run.set_name}: {profile}", total=len(file.missing))

        def answers() -> Iterator[Answer]:
            for question in file.missing:
                yield corpus.ask(question, profile, top_k=self.top_k)
                progress.advance(task)

        file.fill(answers())
        _finish(progress, task)


def _settings() -> list[str]:
    """The variables that the services of a stack read, by which they store and answer otherwise."""
    return sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("HELIX_"))


def _reranker_id(models: Path, profile: RankingProfile) -> str:
    """Name and checksum of the cross-encoder that the profile names; empty where there is none."""
    try:
        name = profile.rerank.cross_encoder.model
        return read_reranker_card(reranker_folder(models, name)).id if name else ""
    except PermanentError:
        return ""  # the corpus is not opened with it: the error names profile and key


def meta(evaluation: Evaluation) -> dict[str, Any]:
    """What a reader of the report must know to repeat it."""
    card = read_card(default_model(evaluation.models))
    return {
        "command": " ".join(["helix-lab", *sys.argv[1:]]),
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "path": evaluation.path,
        "top_k": evaluation.top_k,
        "model": f"{card.name}, {card.dimensions} dimensions, checksum {card.checksum[:12]}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "code": code_digest((*PACKAGES, helix_query)),
        "versions": {name: metadata.version(name) for name in ("lancedb", "tantivy", "onnxruntime", "numpy")},
    }


@contextlib.contextmanager
def opened(data: EvaluationSet, evaluation: Evaluation, progress: Progress) -> Iterator[DirectCorpus]:
    """The corpus of `data` in this process, built unless it is there."""
    task = progress.add_task(f"{data.name}: ingest", total=len(data.documents))
    build_direct(data, evaluation.home, evaluation.models, advance=partial(progress.advance, task))
    _finish(progress, task)
    profiles = known_profiles(evaluation.own_profiles)
    with open_direct(data, evaluation.home, evaluation.models, profiles) as corpus:
        yield corpus


def progress_bar(console: Console) -> Progress:
    """A bar that counts and guesses the time left."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True)


def _finish(progress: Progress, task: TaskID) -> None:
    progress.update(task, visible=False)
