"""What the simulated Helix does, and the command."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_consolidation.settings import ConsolidationSettings
from helix_lab.commands import app
from helix_lab.simulation.parameters import BASES, load_parameters
from helix_lab.simulation.reading import Reading, recalls
from helix_lab.simulation.scenarios import SCENARIOS
from helix_lab.simulation.writing import Move, Writing, freshness
from helix_shared.broker.streams import LEASE_TTL_SECONDS
from helix_shared.errors import InvalidInputError

FIGURES = load_parameters()
ROOT = Path(__file__).parents[4]


def test_every_figure_has_a_source_and_agrees_with_the_settings() -> None:
    """A decision that a source names exists."""
    for name, source in FIGURES.sources.items():
        assert source.basis in BASES
        for word in source.text.split():
            if word.startswith("ops/decisions/"):
                assert list((ROOT / "ops/decisions").glob(f"{word[14:18]}-*.md")), name
    interval = ConsolidationSettings.model_fields["publish_interval_seconds"].default
    assert interval == FIGURES.publish_interval_seconds
    assert FIGURES.writer_return_seconds > LEASE_TTL_SECONDS


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[recall]\nvalue = 1", "recall"),
        ("[recall_seconds]\nvalue = 0", "recall_seconds.value: must be a number from 1e-06 to 1e+06, not 0"),
        ("[pull_seconds]\nvalue = 0", "pull_seconds.value"),
        ("[ingest_seconds]\nvalue = 0", "ingest_seconds.value"),
        ("[copy_events_per_second]\nvalue = 0", "copy_events_per_second.value"),
        ('[recall_seconds]\nvalue = "fast"\nbasis = "measured"\nsource = "x"', "recall_seconds.value"),
        ('[recall_seconds]\nvalue = -1\nbasis = "measured"\nsource = "x"', "recall_seconds.value"),
        ('[pull_p95_over_p50]\nvalue = 0.5\nbasis = "measured"\nsource = "x"', "pull_p95_over_p50.value"),
        ('[recall_seconds]\nvalue = 1\nbasis = "guessed"\nsource = "x"', "recall_seconds.basis"),
        ('[recall_seconds]\nvalue = 1\nbasis = "measured"', "recall_seconds.source"),
        ("no toml", "parameters"),
    ],
)
def test_a_wrong_figure_is_refused_by_name(text: str, field: str, tmp_path: Path) -> None:
    """A figure without a source would be nobody's."""
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InvalidInputError, match=re.escape(field)):
        load_parameters(tmp_path / "mine.toml")


def test_a_run_follows_from_its_seed() -> None:
    """Another seed gives another run."""
    reading, writing = Reading(seconds=5), Writing(seconds=20)
    assert recalls(reading, FIGURES, seed=4) == recalls(reading, FIGURES, seed=4)
    assert recalls(reading, FIGURES, seed=4) != recalls(reading, FIGURES, seed=5)
    assert freshness(writing, FIGURES, seed=4) == freshness(writing, FIGURES, seed=4)


def test_an_idle_replica_answers_in_the_time_of_a_recall() -> None:
    """The distribution has the mean and ratio of the figures; the work that arrives is what is asked for."""
    run = recalls(Reading(utilisation=0.02, seconds=600), FIGURES, seed=1)
    network = FIGURES.network_seconds
    assert sum(run.seconds) / len(run.seconds) - network == pytest.approx(FIGURES.recall_seconds, rel=0.05)
    ratio = (run.percentile(0.95) - network) / (run.percentile(0.5) - network)
    assert ratio == pytest.approx(FIGURES.recall_p95_over_p50, rel=0.05)
    assert run.busy_share == pytest.approx(0.02, rel=0.1)


def test_a_hedge_bounds_what_a_slow_replica_costs() -> None:
    """It sends more; without a slow replica it sends little more."""
    slow = Reading(utilisation=0.4, slow_replica=0, slowness=3.0, seconds=30)
    plain = recalls(slow, FIGURES, seed=1)
    hedged = recalls(replace(slow, hedge_seconds=0.05), FIGURES, seed=1)
    calm = recalls(replace(slow, slowness=1.0, hedge_seconds=0.05), FIGURES, seed=1)
    assert hedged.percentile(0.99) < plain.percentile(0.99) / 4
    assert plain.hedged == 0
    assert calm.hedged < hedged.hedged / 4
    assert len(hedged.seconds) == hedged.sent - hedged.hedged


def test_turns_protect_the_others_from_a_hot_tenant() -> None:
    """In the order of arrival they wait with it."""
    hot = Reading(utilisation=0.3, hot_share=0.7, seconds=40)
    fair = recalls(hot, FIGURES, seed=1)
    unfair = recalls(replace(hot, is_fair=False), FIGURES, seed=1)
    assert fair.percentile(0.95, other_than=0) < unfair.percentile(0.95, other_than=0) / 1.5


@pytest.mark.parametrize(
    "disturbed",
    [
        Writing(seconds=60, leader_deaths=(20.0,)),
        Writing(seconds=60, writer_deaths=(20.0, 40.0)),
        Writing(seconds=60, tenants=20, move=Move(20.0, 2_000)),
    ],
)
def test_what_dies_or_moves_delays_and_leaves_nothing_behind(disturbed: Writing) -> None:
    """Without the death nothing waits that long."""
    calm = freshness(replace(disturbed, leader_deaths=(), writer_deaths=(), move=None), FIGURES, seed=2)
    run = freshness(disturbed, FIGURES, seed=2)
    assert run.published == calm.published
    assert run.waiting == 0
    if disturbed.move is None:
        assert run.percentile(1.0) > calm.percentile(1.0) + 3
    else:
        moved = run.percentile(1.0, tenant=0, since=20, until=35)
        assert moved > calm.percentile(0.5)
        assert moved < calm.percentile(1.0) + 2


def test_a_writer_that_returns_soon_begins_its_batch_again() -> None:
    """It died in the middle of a batch of twenty seconds, which went on as if nothing had happened."""
    figures = replace(FIGURES, publish_seconds=20.0, writer_return_seconds=1.0)
    calm = Writing(events_per_second=5.0, shards=1, seconds=60)
    died = freshness(replace(calm, writer_deaths=(30.0,)), figures, seed=2)
    assert died.waiting == 0
    assert died.percentile(1.0, until=15) > freshness(calm, figures, seed=2).percentile(1.0, until=15) + 5


def test_more_events_than_the_workers_can_do_are_never_fresh() -> None:
    """The control of the freshness by load."""
    most = 4 / (FIGURES.ingest_seconds + FIGURES.derive_seconds)
    over = freshness(Writing(events_per_second=most * 1.5, seconds=60), FIGURES, seed=1)
    under = freshness(Writing(events_per_second=most * 0.5, seconds=60), FIGURES, seed=1)
    assert over.percentile(0.95) > 10
    assert under.percentile(0.95) < 4


def test_the_command_writes_figures_sources_and_charts(tmp_path: Path) -> None:
    """The same seed gives the same report."""
    texts = []
    for name in ("a", "b"):
        out = tmp_path / name / "report.json"
        done = CliRunner().invoke(app, ["simulate", "--out", str(out), "--only", "deaths", "--seed", "7"])
        assert done.exit_code == 0, done.output
        texts.append(out.read_text())
        assert (out.parent / "deaths.png").read_bytes().startswith(b"\x89PNG")
        assert "measured" in out.with_suffix(".md").read_text()
    assert texts[0] == texts[1]
    rows = json.loads(texts[0])["outcomes"]["deaths"]["rows"]
    assert [row["waiting at the end"] for row in rows] == [0, 0]
    assert all(math.isfinite(row["p95, s"]) for row in rows)


def test_an_unknown_scenario_is_refused_by_name(tmp_path: Path) -> None:
    """With the known ones."""
    arguments = ["simulate", "--out", str(tmp_path / "r.json"), "--only", "earthquake"]
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, InvalidInputError)
    assert all(name in str(done.exception) for name in ("earthquake", *SCENARIOS))
