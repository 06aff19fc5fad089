"""Checks the verdicts of an answer against the texts. Nothing is believed: what fails is dropped and counted.

A verdict must name a pair of the question by its number and quote both of its texts. One bad item does not
harm the others; a pair without a verdict is left to the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, StrictInt, ValidationError

from helix_extract.answers.records import RecordedAnswer
from helix_extract.pairs.prompt import LIST
from helix_shared.endpoint.json_text import items_of, object_in
from helix_shared.endpoint.passages import quotes
from helix_shared.pairs.messages import Pair
from helix_shared.pairs.verdicts import NO_VERDICT


class _Verdict(BaseModel):
    """One verdict as answered."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    pair: StrictInt
    verdict: Literal["replaces", "adds", "same", "contradicts", "unrelated"]
    older_quote: str
    newer_quote: str


@dataclass(slots=True)
class CheckedVerdicts:
    """A verdict for each pair of one event, `NO_VERDICT` where none passed; what was dropped by reason."""

    verdicts: list[str]
    dropped: Counter[str] = field(default_factory=Counter)


def check(recorded: RecordedAnswer, pairs: Sequence[Pair]) -> CheckedVerdicts:
    """The verdicts of a recorded answer about the pairs of one event.

    What concerns the answer as a whole is counted with the event that stands first in the question.
    """
    checked = CheckedVerdicts([NO_VERDICT] * len(pairs))
    found, is_cut = object_in(recorded.text, (LIST,))
    is_first = recorded.first <= 1
    if found is None:
        checked.dropped["no answer"] += is_first
    elif is_cut or recorded.is_cut:
        checked.dropped["cut off"] += is_first
    for item in items_of(found or {}, LIST):
        _judge(item, recorded, pairs, checked)
    checked.dropped = +checked.dropped
    return checked


def _judge(item: Any, recorded: RecordedAnswer, pairs: Sequence[Pair], checked: CheckedVerdicts) -> None:
    is_first = recorded.first <= 1
    try:
        given = _Verdict.model_validate(item)
    except ValidationError:
        checked.dropped["schema"] += is_first
        return
    if not 1 <= given.pair <= recorded.asked:
        checked.dropped["pair"] += is_first
        return
    place = given.pair - recorded.first
    if not 0 <= place < len(pairs):
        return  # of another event in the same question
    if checked.verdicts[place] != NO_VERDICT:
        checked.dropped["repeated"] += 1
    elif not (
        quotes(pairs[place].older.text, given.older_quote)
        and quotes(pairs[place].newer.text, given.newer_quote)
    ):
        checked.dropped["quote"] += 1
    else:
        checked.verdicts[place] = given.verdict
