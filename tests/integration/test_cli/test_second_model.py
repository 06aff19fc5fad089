"""A home whose token codes become those of a late-interaction model, from the event to the answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helix_cli.model_build.importing import Origin
from helix_cli.model_build.late_interaction.importing import import_late_interaction
from helix_cli.stack.stack import Stack
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
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
