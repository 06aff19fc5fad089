"""Answers on disk, line by line, so that a killed run continues where it was.

The file name of a run depends on everything that can change an answer: the set, the code, the model, the
ranking profile, the path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import EvaluationSet, Question
from helix_lab.sets.kept_files import kept_file


class RunFile:
    """The answers of one run so far."""

    def __init__(self, folder: Path, data: EvaluationSet, name: str, *, inputs: Iterable[str]) -> None:
        """`inputs` are what the answers depend on besides the questions."""
        questions = (f"{q.id}\x1f{q.text}\x1f{q.timestamp}\x1f{q.tenant}" for q in data.questions)
        parts = (data.name, name, *inputs, *questions)
        self.path = kept_file(folder, f"{data.name}-{name}", parts, suffix=".jsonl")
        self._data = data
        self._name = name
        self._answers = dict(self._read())

    @property
    def missing(self) -> list[Question]:
        """Questions without an answer yet."""
        return [question for question in self._data.questions if question.id not in self._answers]

    @property
    def run(self) -> Run:
        """The answers so far, in the order of the questions."""
        known = (self._answers.get(question.id) for question in self._data.questions)
        return Run(self._data.name, self._name, tuple(answer for answer in known if answer is not None))

    def forget(self) -> None:
        """Delete all answers."""
        self.path.unlink(missing_ok=True)
        self._answers = {}

    def fill(self, answers: Iterable[Answer]) -> None:
        """Write each answer as it comes."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as lines:
            if lines.tell() and _last_byte(lines) != b"\n":
                # a killed run leaves half a line, which stays one of its own
                lines.write(b"\n")
            for answer in answers:
                lines.write(f"{json.dumps(asdict(answer))}\n".encode())
                lines.flush()
                self._answers[answer.question_id] = answer

    def _read(self) -> Iterator[tuple[str, Answer]]:
        """The whole answers; another run may be writing."""
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            fields["ranking"], fields["packed"] = tuple(fields["ranking"]), tuple(fields["packed"])
            within = fields["packed_within"].items()
            fields["packed_within"] = {int(budget): tuple(documents) for budget, documents in within}
            answer = Answer(**fields)
            yield answer.question_id, answer


def _last_byte(file: BinaryIO) -> bytes:
    file.seek(-1, os.SEEK_END)
    return file.read(1)
