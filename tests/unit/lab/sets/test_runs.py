from pathlib import Path

from helix_lab.sets.answers import Answer
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.runs import RunFile


def answer(question_id: str) -> Answer:
    """An answer with every field filled."""
    return Answer(
        question_id,
        ("b", "a"),
        1.5,
        {"embed": 0.5},
        packed=("b",),
        packed_tokens=7,
        packed_within={500: ("b",), 1_000: ()},
        confidence=0.4,
    )


def test_a_run_continues_where_it_stopped(small_set: EvaluationSet, tmp_path: Path) -> None:
    """Answers in the file are not asked for again, and are read back unchanged."""
    first = RunFile(tmp_path, small_set, "helix", inputs=["code"])
    first.fill([answer(question.id) for question in small_set.questions[:4]])
    second = RunFile(tmp_path, small_set, "helix", inputs=["code"])
    assert second.missing == small_set.questions[4:]
    assert second.run == first.run
    assert second.run.answers[0] == answer(small_set.questions[0].id)


def test_half_a_line_of_a_killed_run_is_asked_again(small_set: EvaluationSet, tmp_path: Path) -> None:
    """It is ignored and does not prevent the next answer."""
    run = RunFile(tmp_path, small_set, "helix", inputs=["code"])
    run.fill([answer(question.id) for question in small_set.questions[:2]])
    run.path.write_text(run.path.read_text()[:-9])
    again = RunFile(tmp_path, small_set, "helix", inputs=["code"])
    assert again.missing == small_set.questions[1:]
    again.fill([answer(question.id) for question in again.missing])
    assert not RunFile(tmp_path, small_set, "helix", inputs=["code"]).missing


def test_other_inputs_are_another_run(small_set: EvaluationSet, tmp_path: Path) -> None:
    """Code, model, constants and path identify a run."""
    RunFile(tmp_path, small_set, "helix", inputs=["code"]).fill(
        [answer(question.id) for question in small_set.questions]
    )
    assert len(RunFile(tmp_path, small_set, "helix", inputs=["new code"]).missing) == 11
    assert len(RunFile(tmp_path, small_set, "other", inputs=["code"]).missing) == 11


def test_a_forgotten_run_starts_again(small_set: EvaluationSet, tmp_path: Path) -> None:
    """`--fresh` removes everything."""
    run = RunFile(tmp_path, small_set, "helix", inputs=[])
    run.fill([answer(question.id) for question in small_set.questions])
    run.forget()
    assert len(run.missing) == 11
    assert not run.path.exists()
