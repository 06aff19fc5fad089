"""Reads evaluation sets: a folder with corpus.jsonl.gz, queries.jsonl.gz, qrels.tsv, and more where known.

The form is the one of common retrieval benchmarks, with tenant, session, speaker and time where
known; users' own data in the same form works as well. `stale.tsv` names superseded documents,
`qrels_session.tsv` judges sessions. A broken file is refused with its name and line, and so is a line that
no event or recall can be made of. The sets `months` and `months_unseen` are built in.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from helix_lab.sets import months
from helix_lab.sets.ask import request_of
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_lab.sets.handles import event_of
from helix_lab.sets.months import unseen
from helix_lab.sets.months.timeline import Timeline, timelines_in
from helix_memory.events.codec import explain
from helix_query.api.requests import query_of
from helix_query.profile.profile import DEFAULT_PROFILE
from helix_shared.errors import InvalidInputError, NotFoundError

CORPUS: Final = "corpus.jsonl.gz"
MONTHS: Final = "months"
MONTHS_UNSEEN: Final = "months_unseen"
BUILT_IN: Final = {MONTHS: months, MONTHS_UNSEEN: unseen}
"""Our own sets, and the packages of their tenants; a folder of the name among the user's replaces one."""
BORROWED: Final = {"code_exact": "code_change"}
"""Sets whose questions are about the corpus of another one."""

Tenants = Mapping[str, set[str]]
"""Tenants that have an id, by id."""


def set_names(folder: Path) -> list[str]:
    """Names of the sets below `folder`.

    Raises:
        NotFoundError: there is no such folder, or no set in it.
    """
    found = _sets_in(folder)
    if not found:
        raise NotFoundError(f"{folder} holds no evaluation set; a set is a folder with queries.jsonl.gz")
    return found


def _sets_in(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/queries.jsonl.gz"))


def load_sets(
    folder: Path, names: str, *, corpus_from: Path | None = None, limit: int | None = None
) -> list[EvaluationSet]:
    """The sets of a comma-separated list, each of at most `limit` questions.

    An empty list means all of the folder, and `months`; `months_unseen` has to be named. All are read before
    anything is run: a broken file must not show after an hour.

    Raises: as `set_names` and `load_set`.
    """
    chosen = [name.strip() for name in names.split(",") if name.strip()] or [*set_names(folder), MONTHS]
    loaded = [
        built_in(name)
        if name in BUILT_IN and not (folder / name).is_dir()
        else load_set(folder / name, corpus_from=corpus_from)
        for name in dict.fromkeys(chosen)
    ]
    return [data.sample(limit) for data in loaded]


def load_judged(
    folder: Path, names: str, *, corpus_from: Path | None = None, limit: int | None = None
) -> list[EvaluationSet]:
    """The same, for who scores rankings: each set has an answerable question.

    Raises:
        InvalidInputError: one has none; names it. Else as `load_sets`.
    """
    loaded = load_sets(folder, names, corpus_from=corpus_from, limit=limit)
    for data in loaded:
        if not data.answerable:
            count = len(data.questions)
            reason = (
                f"none of {count} questions has a relevant document in qrels; add judgements or leave it out"
            )
            raise InvalidInputError(data.name, reason)
    return loaded


def built_in(name: str) -> EvaluationSet:
    """One of `BUILT_IN`: tenants with months of events each."""
    return of_timelines(name, timelines_in(files(BUILT_IN[name])))


def months_timelines() -> list[Timeline]:
    """The tenants of `months`, with the values that events state."""
    return timelines_in(files(months))


def of_timelines(name: str, timelines: Iterable[Timeline]) -> EvaluationSet:
    """Their events and questions as one set, a tenant for each timeline."""
    data = EvaluationSet(name, [], [], {})
    for told in timelines:
        data.documents.extend(
            Document(turn.id, turn.text, "", f"{turn.at.isoformat()}Z", turn.session, turn.speaker, told.name)
            for turn in told.turns
        )
        for asked in told.questions:
            when = f"{asked.at.isoformat()}Z"
            data.questions.append(Question(asked.id, asked.text, asked.category, when, told.name))
            if asked.gold:
                data.relevant[asked.id] = {event: float(gain) for event, gain in asked.gold.items()}
            if asked.stale:
                data.stale[asked.id] = set(asked.stale)
    return data


def load_set(folder: Path, *, corpus_from: Path | None = None) -> EvaluationSet:
    """Read a set; one without a corpus finds it under `corpus_from`, in the folder of the same name.

    A folder name with a colon (`locomo:corrected`) reads the variant's `queries_corrected.jsonl.gz` and
    `qrels_corrected.tsv`.

    Raises:
        NotFoundError: a file is missing; names it.
        InvalidInputError: a line cannot be read, or breaks a limit of events or recalls, or a judgement names
            an unknown id or one of another tenant; names file and line.
    """
    base, _, variant = folder.name.partition(":")
    home, ending = folder.with_name(base), f"_{variant}" if variant else ""
    if not home.is_dir():
        raise NotFoundError(
            f"there is no set {base} in {home.parent}; there: {', '.join(_sets_in(home.parent))}; "
            f"built in: {MONTHS}"
        )
    corpus = _find_corpus(home, corpus_from)
    documents = [Document(*_fields(row, Document)) for row in _rows(corpus)]
    questions_file = home / f"queries{ending}.jsonl.gz"
    questions = [Question(*_fields(row, Question)) for row in _rows(questions_file)]
    for path, rows in ((corpus, documents), (questions_file, questions)):
        _check_distinct(path, [row.id for row in rows])
    asked = {question.id: {question.tenant} for question in questions}
    held = {document.id: {document.tenant} for document in documents}
    sessions: dict[str, set[str]] = {}
    for document in documents:
        if document.session_id:
            sessions.setdefault(document.session_id, set()).add(document.tenant)
    data = EvaluationSet(
        folder.name,
        documents,
        questions,
        relevant=_judgements(home / f"qrels{ending}.tsv", asked, held),
        stale=_named(home / "stale.tsv", asked, held),
        sessions=_named(home / "qrels_session.tsv", asked, sessions),
    )
    _check_limits(data, corpus, questions_file)
    return data


def _check_limits(data: EvaluationSet, corpus: Path, questions: Path) -> None:
    """Refuse a line that no event, or no recall, can be made of."""
    for position in range(len(data.documents)):
        with _naming(f"{corpus}:{position + 1}"):
            event_of(data, position)
    for number, question in enumerate(data.questions, 1):
        with _naming(f"{questions}:{number}"):
            request = request_of(data, question, profile=DEFAULT_PROFILE, top_k=1)
            query_of(request, profiles={DEFAULT_PROFILE}, clock=datetime.now(UTC))


@contextmanager
def _naming(place: str) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise InvalidInputError(place, explain(error)) from error
    except (InvalidInputError, ValueError, OverflowError) as error:
        raise InvalidInputError(place, str(error)) from error


def _find_corpus(folder: Path, corpus_from: Path | None) -> Path:
    names = [name for name in (folder.name, BORROWED.get(folder.name)) if name]
    roots = [root for root in (folder.parent, corpus_from) if root is not None]
    places = [root / name / CORPUS for name in names for root in roots]
    for place in places:
        if place.exists():
            return place
    raise NotFoundError(f"no corpus for {folder.name}; looked for {', '.join(map(str, places))}")


def _fields(row: dict[str, Any], kind: type[Document | Question]) -> list[str]:
    values = (row.get(field.name) for field in dataclasses.fields(kind))
    # 0 is a value: ids are often counted from there
    return ["" if value is None else str(value) for value in values]


def _check_distinct(path: Path, ids: list[str]) -> None:
    if not ids:
        raise InvalidInputError(str(path), "is empty; a set has documents and questions")
    seen: set[str] = set()
    for number, identifier in enumerate(ids, 1):
        if identifier in seen:
            raise InvalidInputError(f"{path}:{number}", f"id {identifier!r} is in an earlier line")
        seen.add(identifier)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        raise NotFoundError(f"{path} does not exist; a set has {CORPUS}, queries.jsonl.gz, qrels.tsv")
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield _row(line, f"{path}:{number}")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path}:{number + 1}", f"is not gzip of UTF-8 lines: {error}") from error


def _row(line: str, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InvalidInputError(place, f"is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise InvalidInputError(place, "is not a JSON object")
    for name in ("id", "text"):
        if not isinstance(row.get(name), str | int) or not str(row[name]).strip():
            raise InvalidInputError(place, f"{name} is missing, empty or no text")
    return row


def _judgements(path: Path, questions: Tenants, documents: Tenants) -> dict[str, dict[str, float]]:
    if not path.exists():
        raise NotFoundError(f"{path} does not exist")
    relevant: dict[str, dict[str, float]] = {}
    for place, question, document, *rest in _pairs(path, questions, documents):
        gain = _gain(rest, place)
        if gain > 0:
            relevant.setdefault(question, {})[document] = gain
    return relevant


def _named(path: Path, questions: Tenants, targets: Tenants) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for place, question, target, *rest in _pairs(path, questions, targets) if path.exists() else ():
        # a list of stale documents has no gains
        if not rest or _gain(rest, place) > 0:
            found.setdefault(question, set()).add(target)
    return found


def _gain(fields: list[str], place: str) -> float:
    try:
        gain = float(fields[0])
    except (IndexError, ValueError) as error:
        raise InvalidInputError(place, "not: query id, document id, gain") from error
    if not math.isfinite(gain):
        raise InvalidInputError(place, f"gain {fields[0]} is not a finite number")
    return gain


def _pairs(path: Path, questions: Tenants, targets: Tenants) -> Iterator[tuple[str, ...]]:
    """Place, query id, target id and what follows, of every line below the heading."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInputError(str(path), f"is not UTF-8: {error}") from error
    head = lines[0].split("\t") if lines else []
    if len(head) > 1 and head[0] in questions:
        raise InvalidInputError(f"{path}:1", "is a judgement; the first line is a heading")
    for number, line in enumerate(lines[1:], 2):
        place, fields = f"{path}:{number}", line.split("\t")
        if len(fields) < 2:  # noqa: PLR2004 - a judgement is at least a pair
            raise InvalidInputError(place, "not: query id, document id, gain, with tabs between")
        if fields[0] not in questions:
            raise InvalidInputError(place, f"query {fields[0]!r} is not in the set")
        if fields[1] not in targets:
            raise InvalidInputError(place, f"{fields[1]!r} is not in the corpus")
        if questions[fields[0]].isdisjoint(targets[fields[1]]):
            raise InvalidInputError(place, f"{fields[1]!r} is of another tenant than the query")
        yield (place, *fields)
