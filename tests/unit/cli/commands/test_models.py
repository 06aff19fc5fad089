from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.model_build.default_model import ensure_default_model
from helix_cli.model_build.publish import publish
from helix_shared.encoders.model import load_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

ENSURE = (
    "import sys, pathlib, helix_cli.model_build.default_model as m\n"
    "print(m.ensure_default_model(pathlib.Path(sys.argv[1])))"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Path:
    """Keep a Helix home with the default model in it, as `make setup` built it."""
    folder = tmp_path_factory.mktemp("home")
    built = default_model(models_dir)
    shutil.copytree(built, folder / "models" / built.name)
    return folder


def _run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(
        app, ["models", *arguments], env={"COLUMNS": "200", "HELIX_HOME": None, **environment}
    )


@pytest.mark.long
def test_processes_that_build_at_once_end_with_one_model_of_the_same_bytes(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One builds, the other waits and finds it; two builds have the same bytes; leftovers are removed."""
    (tmp_path / ".unfinished-killed").mkdir()
    command = [sys.executable, "-c", ENSURE, str(tmp_path)]
    builders = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [builder.communicate(timeout=200)[0].strip() for builder in builders]
    assert printed == [str(tmp_path / "all-MiniLM-L6-v2")] * 2
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "all-MiniLM-L6-v2"}
    other = load_card(ensure_default_model(tmp_path_factory.mktemp("other")))
    assert load_card(tmp_path / "all-MiniLM-L6-v2").checksum == other.checksum


def test_a_build_is_measured_against_fp32_and_small(home: Path) -> None:
    """The card has the comparison with fp32; the graph has a quarter of the 90 MB."""
    folder = home / "models" / "all-MiniLM-L6-v2"
    card = load_card(folder)
    assert (card.precision, card.pooling, card.max_tokens, card.query_prefix) == ("int8", "mean", 256, "")
    mean, minimum = (
        float(card.source.split(word)[1].split()[0].strip(",")) for word in ("cosine", "minimum")
    )
    assert mean >= 0.99
    assert minimum >= 0.97
    assert (folder / "model.onnx").stat().st_size < 25_000_000


def test_a_default_that_is_there_is_not_built_again(home: Path) -> None:
    """`helix up` calls this on every start."""
    card = home / "models" / "all-MiniLM-L6-v2" / "model.json"
    before = card.stat().st_mtime_ns
    assert ensure_default_model(home / "models") == card.parent
    assert _run("build", "--home", str(home)).exit_code == 0
    assert card.stat().st_mtime_ns == before


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """A model appears whole or not at all."""

    def half(stage: Path) -> None:
        (stage / "model.onnx").write_bytes(b"half")
        raise PermanentError("check failed")

    with pytest.raises(PermanentError, match="check failed"):
        publish(tmp_path, "small", half, existing="keep")
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_replacement_that_fails_leaves_the_old_model(tmp_path: Path) -> None:
    """The old model is replaced only by a complete one."""
    publish(tmp_path, "small", lambda stage: (stage / "file").touch(), existing="refuse")

    def fail(_: Path) -> None:
        raise PermanentError("check failed")

    with pytest.raises(PermanentError):
        publish(tmp_path, "small", fail, existing="replace")
    assert (tmp_path / "small" / "file").exists()


def test_list_shows_each_model_and_the_default(home: Path) -> None:
    """A table, and the name of the default model."""
    result = _run("list", HELIX_HOME=str(home))
    assert result.exit_code == 0
    assert "int8" in result.output
    assert "default: all-MiniLM-L6-v2" in result.output


def test_list_as_json_is_complete_and_names_damage(home: Path, tmp_path: Path) -> None:
    """The card, the checksum, and the state of the files."""
    shutil.copytree(home / "models", tmp_path / "models")
    [row] = json.loads(_run("list", "--json", "--home", str(tmp_path)).output)
    assert (row["name"], row["default"], row["state"]) == ("all-MiniLM-L6-v2", True, "ok")
    assert row["checksum"] == load_card(home / "models" / "all-MiniLM-L6-v2").checksum
    (tmp_path / "models" / "all-MiniLM-L6-v2" / "tokenizer.json").write_text("{}", encoding="utf-8")
    [row] = json.loads(_run("list", "--json", "--home", str(tmp_path)).output)
    assert row["state"].startswith("corrupt: model file was changed")


def test_an_empty_home_says_what_to_run(tmp_path: Path) -> None:
    """A home without models is not an error."""
    assert json.loads(_run("list", "--json", "--home", str(tmp_path)).output) == []
    assert "helix models build" in _run("list", "--home", str(tmp_path)).output


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["import", "/nowhere"], "folder: must be a folder", 2),
        (["pull", "unheard-of"], "published: bge-small-en-v1.5", 1),
        (["pull", "bge-small-en-v1.5", "--hub", "http://127.0.0.1:9"], "helix models import DIR", 3),
    ],
)
def test_a_failure_is_one_line(tmp_path: Path, arguments: list[str], words: str, code: int) -> None:
    """The line says what failed and what to do; there is no traceback."""
    result = _run(*arguments, "--home", str(tmp_path))
    assert result.exit_code == code
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("error: ")
    assert words in result.stderr


@pytest.mark.parametrize("arguments", [["import"], ["pull"], ["list", "--unknown"]])
def test_wrong_usage_is_exit_code_two(arguments: list[str]) -> None:
    """As is usual for command-line programs."""
    assert _run(*arguments).exit_code == 2


def test_the_commands_load_neither_onnx_nor_torch_until_they_build() -> None:
    """Only a build imports onnx, and nothing imports torch."""
    code = (
        "import sys, helix_cli.commands.operating.models\n"
        "print({'onnx', 'torch', 'sentence_transformers'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
