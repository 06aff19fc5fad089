import fcntl
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helix_lab.channel_share.curves import kept_at
from helix_lab.evaluate import Evaluation, Way
from helix_lab.sets.answers import Answer
from helix_lab.sets.build import BUILT, build_corpus, code_digest, corpus_key
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.runs import RunFile
from helix_query.profile.files import load_profiles


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


def test_the_same_question_of_another_tenant_is_asked_again(small_set: EvaluationSet, tmp_path: Path) -> None:
    """It sees other documents: a set whose tenants were corrected must not keep its answers."""
    RunFile(tmp_path, small_set, "helix", inputs=[]).fill([answer(one.id) for one in small_set.questions])
    moved = replace(small_set, questions=[replace(one, tenant="other") for one in small_set.questions])
    assert len(RunFile(tmp_path, moved, "helix", inputs=[]).missing) == 11
    paths = {kept_at(tmp_path, one, load_profiles()["helix"], "corpus") for one in (small_set, moved)}
    assert len(paths) == 2


def test_a_setting_of_ingest_makes_another_corpus(
    small_set: EvaluationSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shorter pieces are other memories."""
    before = corpus_key(small_set, "model")
    monkeypatch.setenv("HELIX_INGEST_PIECE_TOKENS", "90")
    assert corpus_key(small_set, "model") != before


@pytest.mark.parametrize(("path", "is_asked_again"), [("stream", True), ("direct", False)])
def test_settings_of_services_belong_to_the_answers_of_their_stack(
    path: Way,
    is_asked_again: bool,
    small_set: EvaluationSet,
    tmp_path: Path,
    models_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stack with more predicted questions answers otherwise; in this process nothing reads that setting."""
    evaluation, profile = Evaluation(tmp_path, models_dir, path, top_k=10), load_profiles()["helix"]
    evaluation.kept(small_set, profile).fill([answer(question.id) for question in small_set.questions])
    assert not evaluation.kept(small_set, profile).missing
    monkeypatch.setenv("HELIX_DOC2QUERY_MODEL_QUESTIONS", "3")
    assert bool(evaluation.kept(small_set, profile).missing) == is_asked_again


def test_a_forgotten_run_starts_again(small_set: EvaluationSet, tmp_path: Path) -> None:
    """`--fresh` removes everything."""
    run = RunFile(tmp_path, small_set, "helix", inputs=[])
    run.fill([answer(question.id) for question in small_set.questions])
    run.forget()
    assert len(run.missing) == 11
    assert not run.path.exists()


def test_two_runs_at_once_lose_no_answer_but_a_torn_one(small_set: EvaluationSet, tmp_path: Path) -> None:
    """A run that begins while another writes reads half of its line, and takes nothing from the file."""
    first = RunFile(tmp_path, small_set, "helix", inputs=["code"])
    first.fill([answer(question.id) for question in small_set.questions[:2]])
    whole = first.path.read_text()
    first.path.write_text(whole[:-9])
    second = RunFile(tmp_path, small_set, "helix", inputs=["code"])
    with first.path.open("a") as rest:
        rest.write(whole[-9:])
    second.fill([answer(question.id) for question in small_set.questions[2:]])
    assert not RunFile(tmp_path, small_set, "helix", inputs=["code"]).missing
    first.path.write_text(whole.replace("\n", "\n}torn\n", 1))
    assert len(RunFile(tmp_path, small_set, "helix", inputs=["code"]).run.answers) == 2


@pytest.mark.parametrize(
    ("name", "is_noted"),
    [
        ("stage.py", True),
        ("query_adapter.npz", True),
        ("words.txt", True),
        ("examples.toml", True),
        ("profile/adapter.npz", True),
        ("profile/recipes/own.toml", False),
        ("stage.pyc", False),
    ],
)
def test_kept_answers_belong_to_the_files_that_gave_them(tmp_path: Path, name: str, is_noted: bool) -> None:
    """Fitted files count as code does; a ranking profile has its own part in the name of a file."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    digests = set()
    for content in ("before", "after"):
        path.write_text(content)
        package = ModuleType("package")
        package.__file__ = str(tmp_path / "__init__.py")
        digests.add(code_digest((package,), without_toml_of="profile"))
    assert len(digests) == 1 + is_noted


def test_a_second_process_waits_for_the_corpus_of_the_first(small_set: EvaluationSet, tmp_path: Path) -> None:
    """It neither removes what the first one writes, nor builds it again."""
    encoder: Any = None
    folder, results = tmp_path / "corpus", list[bool]()
    folder.mkdir()
    (folder / "half").touch()
    with (tmp_path / "corpus.lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = threading.Thread(target=lambda: results.append(build_corpus(small_set, folder, encoder)))
        second.start()
        second.join(0.2)
        assert second.is_alive()
        (folder / BUILT).touch()
    second.join()
    assert (results, (folder / "half").exists()) == ([False], True)
