import gzip
import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from helix_lab.tuning.command import tune_command
from helix_lab.tuning.nested import tuned
from helix_lab.tuning.profile_file import write_profile
from helix_lab.tuning.summary import profile_heading, tuning_markdown, tuning_report
from helix_query.profile.files import load_profiles
from helix_query.profile.overrides import with_constants
from helix_shared.errors import InvalidInputError

from .tuning_cases import HELIX, made, plan, steep


def test_a_written_profile_is_read_back_the_same(tmp_path: Path) -> None:
    """By the service's own loader, comment and all."""
    profile = with_constants(HELIX, {"name": "mine", "fuse.rank_bonuses": (0.1, 0.05), "fuse.k": 7})
    path = write_profile(profile, tmp_path / "own", heading=["Found so.", "", "And so."])
    assert path.read_text().startswith("# Found so.\n#\n# And so.\n")
    assert load_profiles(tmp_path / "own")["mine"] == profile


def test_the_report_says_what_was_held_out_and_what_changed() -> None:
    """24 questions at rank 2 before, at rank 1 after."""
    sets = [made("a")]
    outcome = tuned(sets, steep, HELIX, plan(), outer=2)
    report = tuning_report(outcome, sets, HELIX, plan(), name="mine")
    row = report["held_out"]["sets"]["a"]
    assert (row["start"], row["tuned"], row["gain"], row["queries"]) == (50.0, 100.0, 50.0, 24)
    assert report["before"] == {"rank.quality_weight": 0.03}
    assert [fold["held_out"]["gain"] for fold in report["folds"]] == [50.0, 50.0]
    page = tuning_markdown(report)
    assert "Held out, the search gains +50.00 points [+50.00, +50.00] over helix." in page
    assert "| `rank.quality_weight` | 0.03 |" in page
    assert profile_heading(report)[1] == "Sets: a (MRR@10, 24 questions)."


@pytest.mark.usefixtures("own_home")
def test_the_command_tunes_a_built_corpus(run_command: Callable[..., Result], tmp_path: Path) -> None:
    """20 notes, 20 questions, real stages: a profile that the service reads, and the gain of its search."""
    written(tmp_path / "sets" / "notes")
    options = "--name mine --trials 4 --outer 2 --inner 2 --space fuse.weights.dense,rank.graph_weight"
    places = ("--data", tmp_path / "sets", "--sets", "notes", "--out", tmp_path / "own")
    done = run_command(tune_command, *places, *options.split())
    assert done.exit_code == 0
    profile = load_profiles(tmp_path / "own")["mine"]
    report = json.loads((tmp_path / "own" / "mine.json").read_text())
    assert report["held_out"]["sets"]["notes"]["queries"] == 20
    assert len(report["folds"]) == 2
    assert with_constants(HELIX, report["constants"]).fuse == profile.fuse
    assert tomllib.loads((tmp_path / "own" / "mine.toml").read_text())["name"] == "mine"
    assert "# mine: helix tuned on 1 sets" in (tmp_path / "own" / "mine.md").read_text()


def written(folder: Path) -> None:
    """Notes on twenty birds, and a question about each."""
    waders = [
        "heron",
        "osprey",
        "plover",
        "bittern",
        "dunlin",
        "avocet",
        "curlew",
        "gadwall",
        "dotterel",
        "whimbrel",
    ]
    others = [
        "kestrel",
        "wren",
        "siskin",
        "merlin",
        "pipit",
        "goshawk",
        "twite",
        "redpoll",
        "nuthatch",
        "stonechat",
    ]
    birds = [*waders, *others]
    folder.mkdir(parents=True)
    corpus = [{"id": bird, "text": f"The {bird} was seen near pond {n}."} for n, bird in enumerate(birds)]
    queries = [{"id": f"q-{bird}", "text": f"Where was the {bird} seen?"} for bird in birds]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        body = "\n".join(map(json.dumps, rows)).encode()
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(body))
    (folder / "qrels.tsv").write_text("q\td\ts\n" + "".join(f"q-{bird}\t{bird}\t1\n" for bird in birds))


@pytest.mark.usefixtures("own_home")
def test_the_command_refuses_a_bad_name_before_it_searches(tmp_path: Path) -> None:
    """The name of a profile is the name of its file."""
    written(tmp_path / "sets" / "notes")
    with pytest.raises(InvalidInputError, match="name: must match"):
        tune_command(data=tmp_path / "sets", name="No Name", out=tmp_path)
