"""The benchmark's data under the real stack: consolidation continues from it, and the report is complete."""

import shutil
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from helix_lab.bench.command import Bench, measure
from helix_lab.bench.generate.build_cache import ensure_built
from helix_lab.bench.generate.load import BuildInfo, read_build_info
from helix_lab.bench.machine import machine
from helix_lab.bench.reading.list_calls import PAGE, lists_section, scanned
from helix_lab.bench.reading.recall_load import asked_texts
from helix_lab.bench.reading.token_codes import codes_section
from helix_lab.bench.reading.vector_indices import index_section
from helix_lab.bench.run_folder import stack_over
from helix_lab.bench.table import print_report
from helix_lab.bench.writing.live_ingest import freshness_section
from helix_lab.gateway_calls import gateway_section
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.errors import InvalidInputError

pytestmark = [pytest.mark.integration, pytest.mark.long]

N = 400


@pytest.fixture(scope="module")
def built(models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildInfo]:
    """A few hundred memories of invented texts."""
    return ensure_built(tmp_path_factory.mktemp("lab"), models_dir, None, N, seed=7)


def test_built_data_is_a_whole_generation_and_is_built_once(
    built: tuple[Path, BuildInfo], models_dir: Path
) -> None:
    """All four artifacts hold the same memories; a second call returns the same folder."""
    folder, info = built
    verify(folder_of(folder, 1), verified=set())
    generation = Generation.open(folder, 1)
    try:
        counts = generation.manifest.counts
        assert (counts.memories, counts.signals, counts.lexicon) == (N, N, N)
        assert counts.entities > 50
        assert generation.manifest.applied_sequence == info.events
        found = generation.vectors.find([item for _, item in info.phrase_queries], ["tenant_id", "text"])
        assert set(found["tenant_id"].to_pylist()) == {info.tenant}
    finally:
        generation.close()
    stamp = (folder / "bench.json").stat().st_mtime_ns
    again, _ = ensure_built(folder.parents[1], models_dir, None, N, seed=7)
    assert (again, (again / "bench.json").stat().st_mtime_ns) == (folder, stamp)


def test_built_data_of_another_format_is_refused(built: tuple[Path, BuildInfo], tmp_path: Path) -> None:
    """And a folder without such data; a query service over them would wait for ever."""
    with pytest.raises(InvalidInputError, match="holds no data"):
        read_build_info(tmp_path)
    shutil.copyfile(built[0] / "bench.json", tmp_path / "bench.json")
    older = Manifest.read(folder_of(built[0], 1)).model_copy(update={"format_version": 11})
    folder_of(tmp_path, 1).mkdir(parents=True)
    (folder_of(tmp_path, 1) / MANIFEST_NAME).write_text(older.model_dump_json(), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="format 11, not"):
        read_build_info(tmp_path)


def test_consolidation_continues_from_built_data(built: tuple[Path, BuildInfo], models_dir: Path) -> None:
    """A new event gets the sequence after the built ones, and both can be recalled."""
    folder, info = built
    with stack_over(folder, info, models_dir) as stack:
        assert freshness_section(stack, info, events=1)["freshness_s"]["p50"] > 0
        with RecallClient(stack.query_address) as client:
            status = client.status()
            text, item = info.phrase_queries[0]
            scope = recall_pb2.Scope(tenant_id=info.tenant)
            reply = client.recall(recall_pb2.RecallRequest(scope=scope, query=text, top_k=50))
    assert status.applied_sequence == info.events + 1
    assert status.generation > 1
    assert item in [memory.memory.memory_id for memory in reply.memories]
    # the cached build is unchanged
    assert [path.name for path in (folder / "generations").iterdir()] == ["000000000001"]


def test_a_report_holds_its_sections_and_names_what_failed(
    built: tuple[Path, BuildInfo], models_dir: Path, tmp_path: Path
) -> None:
    """Every requested section has figures; peers without their environment give the reason."""
    folder, info = built
    queries = asked_texts(info, 20)
    # the home of the built data, as the command has it: its texts are embedded already
    index = partial(index_section, folder.parents[1], models_dir, None, seed=7, queries=20)
    codes = partial(codes_section, tmp_path, seed=7, queries=5)
    report = {"n": N, "machine": machine()}
    run = Bench(folder, info, models_dir, queries, tmp_path / "no-python", 10.0, index, codes, report)
    measure(run, ["recall", "memory", "floor", "dense", "start", "index", "codes", "peers"])
    assert "failed" not in report
    assert report["token_codes"]["warm"]["ms"]["p50"] > 0
    assert report["vector_index"]["kinds"]["product"]["recall_at_100"] > 0.9
    assert set(report["recall_ms"]) == {"p50", "p95", "p99"}
    assert {"embed", "retrieve", "pack"} <= set(report["stages_ms"])
    assert {"recall", "embed", "dense", "lexical", "floor", "parallel"} == set(report["floor_ms"])
    for whole in ("floor", "parallel"):
        assert report["floor_ms"][whole]["p50"] >= report["floor_ms"]["embed"]["p50"] > 0
    assert report["dense_recall_at_100"] == 1.0
    assert report["own"]["recall_at_10"] > 0.5
    memory = report["memory_bytes"]
    assert memory["anonymous"] + memory["mapped"] == memory["resident"] > 50_000_000
    assert set(report["page_faults"]) == {"minor", "major", "put_out"}
    assert report["page_faults"]["minor"] > 0 < report["page_reads"]["random_4k_ns"]
    assert 0 < report["start_s"] < 60
    assert "make peers-setup" in report["peers"]["skipped"]
    print_report(report, Console(quiet=True))


@pytest.mark.long
def test_the_gateway_is_compared_with_grpc_in_one_run(
    built: tuple[Path, BuildInfo], models_dir: Path
) -> None:
    """The same queries, in turns."""
    folder, info = built
    with stack_over(folder, info, models_dir) as stack:
        report = gateway_section(stack, info, asked_texts(info, 20))
    assert report["gateway_ms"].keys() == {"grpc", "rest", "mcp"}
    assert report["gateway_ratio"].keys() == {"rest", "mcp"}


@pytest.mark.long
def test_lists_and_pages_are_compared_with_a_scan_that_finds_the_same_memories(
    built: tuple[Path, BuildInfo], models_dir: Path
) -> None:
    """A caller without a user sees fewer than the scan, which knows no owners; all are of its tenant."""
    folder, info = built
    generation = Generation.open(folder, 1)
    try:
        found = scanned(generation, info.tenant)
    finally:
        generation.close()
    assert len(found) == min(PAGE, info.tenant_memories)
    with stack_over(folder, info, models_dir) as stack:
        report = lists_section(stack, info)
    assert report["lists_ratio"].keys() == report["lists_ms"].keys() - {"scan"}
    assert {"overview", "memories", "memory", "timeline", "dead letters"} <= report["pages_ms"].keys()
    print_report({"n": N, **report}, Console(quiet=True))
