"""What a command refuses before it builds or asks anything."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from helix_lab.ablation.command import ablate_command
from helix_lab.commands import eval_command, peers
from helix_lab.query_adapter.command import adapter_command
from helix_lab.relations.command import relations_command
from helix_lab.tuning.command import tune_command
from helix_lab.vector_losses import vectors_command
from helix_shared.errors import InvalidInputError, NotFoundError

from .conftest import write_set

Run = Callable[..., Result]


@pytest.mark.parametrize("command", [eval_command, peers, ablate_command])
@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_a_report_that_its_neighbours_would_overwrite(
    command: Callable[..., None], name: str, run_command: Run, tmp_path: Path
) -> None:
    """Not after the first set was asked."""
    with pytest.raises(InvalidInputError, match=f"out: {name} is written beside the report"):
        run_command(command, "--data", tmp_path, "--out", tmp_path / name)


def test_a_misspelt_peer(run_command: Run, tmp_path: Path) -> None:
    """Not after Helix answered the first set."""
    with pytest.raises(InvalidInputError, match="'chrome' is none of lancedb_hybrid, "):
        run_command(peers, "--data", tmp_path, "--engines", "exact,chrome")


@pytest.mark.parametrize(
    ("command", "out"),
    [
        (eval_command, ["x.json"]),
        (peers, ["x.json"]),
        (ablate_command, ["x.json"]),
        (tune_command, ["tuned", "--name", "mine"]),
        (adapter_command, ["x.npz"]),
    ],
)
def test_a_misspelt_profile(
    command: Callable[..., None],
    out: list[str],
    run_command: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not after sets were read and a model was made."""
    monkeypatch.setenv("HELIX_HOME", str(tmp_path / "home"))
    asked = ("--data", tmp_path, "--profile", "helixx", "--out", *out)
    with pytest.raises(InvalidInputError, match="profile: unknown: helixx"):
        run_command(command, *asked)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("command", [eval_command, peers, ablate_command, vectors_command])
def test_a_set_without_an_answerable_question(
    command: Callable[..., None], run_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to score; in a sample, too."""
    monkeypatch.setenv("HELIX_HOME", str(tmp_path / "home"))
    documents = [{"id": "d", "text": "The kettle is blue."}]
    queries = [{"id": f"q{number}", "text": "Which colour?"} for number in range(3)]
    write_set(tmp_path / "sets" / "mine", documents, queries, ["q1\td\t1"])
    write_set(tmp_path / "sets" / "none", documents, queries, [])
    for asked in (["--sets", "none"], ["--sets", "mine", "--limit", "1"]):
        with pytest.raises(InvalidInputError, match=r"none of \d questions has a relevant document in qrels"):
            run_command(command, "--data", tmp_path / "sets", *asked)
    assert not (tmp_path / "home").exists()


def test_a_set_of_look_alikes_that_is_not_there(
    run_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after the statements of all other sets were embedded."""
    monkeypatch.setenv("HELIX_HOME", str(tmp_path / "home"))
    with pytest.raises(NotFoundError, match="there is no set locomo"):
        run_command(relations_command, "--data", tmp_path, "--sets", "months", "--look-alike-sets", "locomo")
    assert not (tmp_path / "home").exists()
