"""The consumer of doc2query: for each memories message one expansions message.

`predict` makes the questions, `keep` selects; `helix_shared.broker.worker` does delivery and dead letters.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from helix_doc2query.keep import keep
from helix_doc2query.predict import COLUMNS, SILENT_ACTS, predict
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.worker import derive

SERVICE: Final = streams.DOC2QUERY
EDGE: Final = "expansions"
VERSION: Final = "5"
"""Part of the message id: raise it with the rules, so that new results are not dropped as repetitions."""


class AsksQuestions(Protocol):
    """A model that predicts questions."""

    @property
    def checksum(self) -> str:
        """Names the model."""

    def questions(self, text: str) -> list[str]:
        """Questions that a text answers, best first."""


def expansion_rows(row: derive.Row, model: AsksQuestions | None = None) -> list[dict[str, Any]]:
    """Rows of the expansions edge for one memory: one, or none without a useful question.

    The questions of `model` come before those of the rules.
    """
    if row["speech_act"] in SILENT_ACTS:
        return []
    predicted = model.questions(str(row["text"])) if model is not None else []
    questions = keep([*predicted, *predict(row)], f"{row['title']} {row['text']}")
    return [{"memory_id": row["memory_id"], "expansions": questions}] if questions else []


def first_of_a_turn(rows: Sequence[derive.Row], made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`made` without the questions of a statement that was resolved from a row which has questions."""
    verbatim = {row["memory_id"]: row["derived_from"] for row in rows}
    asked = {expanded["memory_id"] for expanded in made}
    return [expanded for expanded in made if verbatim[expanded["memory_id"]] not in asked]


def with_model(model: AsksQuestions) -> derive.Derivation:
    """The derivation with a model; its results have a version of their own."""
    return replace(
        DERIVATION,
        version=f"{VERSION}:{model.checksum}",
        derive=functools.partial(expansion_rows, model=model),
    )


DERIVATION: Final = derive.Derivation(
    EDGE, VERSION, edges.expansions_schema(), COLUMNS, expansion_rows, first_of_a_turn
)
"""What `app` wires to the memories edge."""
