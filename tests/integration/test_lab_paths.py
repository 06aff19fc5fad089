"""The two paths of the lab on one set: through NATS and gRPC, and in this process."""

import importlib.util
from pathlib import Path
from statistics import fmean

import pytest

from helix_lab.measures.metrics import mean, score
from helix_lab.ranking_profiles import profile_folder
from helix_lab.sets.answers import Run
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.direct import build_direct, open_direct
from helix_lab.sets.inventory import take_inventory
from helix_lab.sets.load import load_set
from helix_lab.sets.stream import Loading, open_stream
from helix_query.profile.files import load_profiles

pytestmark = [pytest.mark.integration, pytest.mark.long]

ASKED = ("helix", "helix-reference", "dense", "bm25", "lexical", "fused")


def _generated(folder: Path, *, turns: int, notes: int) -> Path:
    """The small generated set of the lab's unit tests, at another size."""
    place = Path(__file__).resolve().parents[1] / "unit" / "lab" / "conftest.py"
    spec = importlib.util.spec_from_file_location("lab_conftest", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Path = module.generated(folder, turns=turns, notes=notes)
    return made


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> EvaluationSet:
    """120 turns in 10 sessions and 80 notes, 29 questions."""
    return load_set(_generated(tmp_path_factory.mktemp("sets") / "paths", turns=120, notes=80))


@pytest.fixture(scope="module")
def runs(
    data: EvaluationSet, models_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Run, Run]]:
    """Every profile's answers, direct and through the stream."""
    home = tmp_path_factory.mktemp("lab")
    build_direct(data, home, models_dir)
    with (
        profile_folder(None) as folder,
        open_direct(data, home, models_dir, load_profiles(folder)) as direct,
        open_stream(data, models_dir, folder, loading=Loading()) as stream,
    ):
        taken = take_inventory(data, stream.client)
        assert (taken.recallable, taken.lost, taken.seen_by_foreign_tenants) == (200, 0, 0)
        return {
            profile: (
                Run(data.name, profile, tuple(direct.ask(q, profile, top_k=50) for q in data.questions)),
                Run(data.name, profile, tuple(stream.ask(q, profile, top_k=50) for q in data.questions)),
            )
            for profile in ASKED
        }


@pytest.mark.parametrize("profile", ASKED)
def test_both_paths_rank_alike(runs: dict[str, tuple[Run, Run]], data: EvaluationSet, profile: str) -> None:
    """For 19 of 20 questions the first document is the same, and relevant ones move by at most one rank.

    Rankings are not identical: BM25 counts rewritten documents until tantivy merges their segment, and the
    time of the merge depends on when messages arrived. This decides among weakly relevant documents.
    """
    direct, stream = runs[profile]
    pairs = [
        (data.relevant[mine.question_id], mine.ranking, theirs.ranking)
        for mine, theirs in zip(direct.answers, stream.answers, strict=True)
    ]
    assert fmean(mine[0] == theirs[0] for _, mine, theirs in pairs) >= 0.95
    places = [
        abs(mine.index(document) - theirs.index(document))
        for relevant, mine, theirs in pairs
        for document in relevant
    ]
    assert fmean(moved <= 1 for moved in places) >= 0.95


@pytest.mark.parametrize("profile", ["dense", "fused", "helix"])
def test_both_paths_name_the_same_ten(runs: dict[str, tuple[Run, Run]], profile: str) -> None:
    """Nine of the first ten agree where the weakly relevant memories are ranked by meaning."""
    direct, stream = runs[profile]
    shared = [
        len({*mine.ranking[:10]} & {*theirs.ranking[:10]}) / 10
        for mine, theirs in zip(direct.answers, stream.answers, strict=True)
    ]
    assert fmean(shared) >= 0.9


@pytest.mark.parametrize("profile", ASKED)
def test_both_paths_are_equally_good(
    runs: dict[str, tuple[Run, Run]], data: EvaluationSet, profile: str
) -> None:
    """No metric differs by more than two points."""
    direct, stream = (mean(score(run, data)) for run in runs[profile])
    assert direct == pytest.approx(stream, abs=2.0)


def test_the_dense_channel_ranks_exactly_alike(runs: dict[str, tuple[Run, Run]]) -> None:
    """The same text has the same vector on both paths, to the last bit."""
    direct, stream = runs["dense"]
    assert [answer.ranking for answer in direct.answers] == [answer.ranking for answer in stream.answers]
