"""Homes with the forms of models that few use: a late-interaction model, and prefixes of vectors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helix_cli.model_build.description import Description
from helix_cli.model_build.importing import Origin, import_folder
from helix_cli.model_build.late_interaction.importing import import_late_interaction
from helix_cli.stack.stack import Stack
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.encoders.model import read_card, write_card
from helix_shared.encoders.store import default_model

from .running import run

pytestmark = [pytest.mark.integration, pytest.mark.long]

QUESTION = "When does the zebra leave?"
FERRY = "The ferry to the island leaves at seven."
SAID = (FERRY, "The train to Lindau leaves at nine.", "The bus to the lake leaves at noon.")


@pytest.fixture(scope="module")
def home(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, late_interaction_folder: Callable[..., Path]
) -> Iterator[Path]:
    """The home of a stack that uses MiniLM; beside it a model to which a zebra and a ferry are the same."""
    home = tmp_path_factory.mktemp("second") / "home"
    built = default_model(models_dir)
    shutil.copytree(built, home / "models" / built.name)
    given = late_interaction_folder(home / ".given", {"zebra": "ferry"})
    origin = Origin("late", "a test")
    import_late_interaction(
        given, home / "models", origin, beside=home / "models" / built.name, existing="refuse"
    )
    with Stack(home, nats_port=0, query_port=0) as running:
        running.wait_ready()
        yield home


def publish(home: Path, session: str, texts: tuple[str, ...]) -> None:
    """Publish turns and wait until they can be recalled."""
    fields = {"kind": "message", "tenant_id": "acme", "role": "user", "session_id": session}
    events = [fields | {"event_id": f"{session}-{n}", "text": text} for n, text in enumerate(texts)]
    file = home / "said.jsonl"
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    code, out, err = run(home, "publish", str(file), "--wait")
    assert code == 0, out + err


def first(home: Path, *arguments: str) -> str:
    """Text of the best answer."""
    code, out, err = run(home, "recall", QUESTION, "--json", *arguments)
    assert code == 0, out + err
    found: str = json.loads(out)["memories"][0]["memory"]["text"]
    return found


def test_the_codes_of_a_home_become_those_of_the_model(home: Path) -> None:
    """Refused before; afterwards memories of before and new ones are compared by the model's codes."""
    publish(home, "before", SAID)
    code, _, err = run(home, "recall", QUESTION, "--profile", "colbert")
    assert code != 0
    assert "'colbert' compares token codes of a late-interaction model" in err
    code, out, err = run(home, "models", "use", "late")
    assert code == 0, out + err
    number = current_number(home / "data")
    assert number is not None
    assert Manifest.read(folder_of(home / "data", number)).model.name == "late"
    assert first(home, "--profile", "colbert") == FERRY
    publish(home, "after", ("A second ferry leaves at eight.",))
    code, out, err = run(home, "recall", QUESTION, "--json", "--explain", "--profile", "colbert")
    assert code == 0, out + err
    nearest = {
        word["nearest"]
        for one in json.loads(out)["explanation"]["candidates"]
        for word in one.get("late_interaction", {}).get("words", [])
        if word["word"] == "zebra" and word["similarity"] > 0.7
    }
    assert nearest == {"ferry"}
    assert {first(home, "--profile", "colbert"), FERRY} <= {FERRY, "A second ferry leaves at eight."}


def test_a_model_without_the_scanned_prefix_is_refused(
    tmp_path: Path, models_dir: Path, encoder_folder: Callable[..., Path]
) -> None:
    """A home that scans a declared prefix answers, and keeps its model when another does not declare it."""
    home, built = tmp_path / "home", default_model(models_dir)
    folder = home / "models" / built.name
    shutil.copytree(built, folder)
    write_card(folder, read_card(folder).model_copy(update={"matryoshka_dimensions": (128,)}))
    given = encoder_folder(tmp_path / "tiny", Description(pooling="mean", max_tokens=96))
    import_folder(given, home / "models", Origin("tiny", "a test", keep_fp32=True), existing="refuse")
    scanned = {"HELIX_CONSOLIDATION_SCAN_DIMENSIONS": "128"}
    unused = dict.fromkeys(("doc2query", "kg", "forwarder"), 0)
    with Stack(home, nats_port=0, query_port=0, copies=unused, environment=scanned) as running:
        running.wait_ready()
        publish(home, "one", SAID)
        code, out, err = run(home, "recall", "When does the ferry leave?", "--json")
        assert code == 0, out + err
        assert json.loads(out)["memories"][0]["memory"]["text"] == FERRY
        code, _, err = run(home, "models", "use", "tiny")
        assert code != 0
        assert "must be 0 with the model tiny, is 128" in err
        number = current_number(home / "data")
        assert number is not None
        assert Manifest.read(folder_of(home / "data", number)).model.name == built.name
