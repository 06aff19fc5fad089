"""The report on the console: one table of times, one of everything else, ratios beside the bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from helix_lab.bench.reading.token_codes import codes_lines
from helix_lab.bench.reading.vector_indices import index_table

_MARKS: Final = ("p50", "p95", "p99")
_MIB: Final = 1_048_576


def print_report(report: Mapping[str, Any], console: Console) -> None:
    """Show what the report holds; sections that were left out have no rows."""
    title = f"{report['n']:,} memories, milliseconds"
    table = Table("what", *(f"{mark} ms" for mark in _MARKS), title=title, title_justify="left")
    for name, times in time_rows(report):
        table.add_row(name, *(f"{times[mark]:.2f}" if mark in times else "-" for mark in _MARKS))
    if table.row_count:
        console.print(table)
    if (indices := index_table(report)) is not None:
        console.print(indices)
    for line in (*ratios(report), *plain_lines(report)):
        console.print(line, markup=False)


def time_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Every row of milliseconds: name and percentiles."""
    if "recall_ms" in report:
        yield "whole recall over gRPC", report["recall_ms"]
        yield "  without its embedding", report["own"]["without_embedding_ms"]
    for name, times in report.get("stages_ms", {}).items():
        yield f"  stage {name}", times
    for name, times in report.get("floor_ms", {}).items():
        yield f"engines: {name}", times
    yield from _door_rows(report)
    for name, figures in report.get("peers", {}).items():
        if isinstance(figures, Mapping) and "recall_ms" in figures:
            yield f"peer {name}, vector given", figures["recall_ms"]
    yield from _cross_encoder_rows(report.get("cross_encoder", {}))
    for name in ("quiet_ms", "busy_ms", "after_swap_ms"):
        if times := report.get("live", {}).get(name):
            yield f"live {name.removesuffix('_ms').replace('_', ' ')}", times


def _door_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    for name, times in report.get("gateway_ms", {}).items():
        yield f"a recall over {name}, asked in turns", times
    for name, times in report.get("lists_ms", {}).items():
        yield f"list {name}, asked in turns", times
    for name, times in report.get("pages_ms", {}).items():
        yield f"page of the explorer: {name}", times
    for name, times in report.get("profile_ms", {}).items():
        yield f"profile, {name} stated, asked in turns", times


def _cross_encoder_rows(found: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    for count, times in found.get("recall_ms", {}).items():
        yield f"in process, cross-encoder over {count}", times
    for count, by_tokens in found.get("compare_ms", {}).items():
        for tokens, times in by_tokens.items():
            yield f"  {count} pairs of {tokens} tokens", times


def over_floor(report: Mapping[str, Any]) -> dict[str, float]:
    """Whole recall over its floor, and over both engines at once, at p50 and p95, asked in turns."""
    found = report.get("floor_ms", {})
    if "recall" not in found:
        return {}
    return {
        f"{name}_{mark}": round(found["recall"][mark] / found[name][mark], 2)
        for name in ("floor", "parallel")
        for mark in ("p50", "p95")
    }


def ratios(report: Mapping[str, Any]) -> Iterator[str]:
    """What the bars ask: ratios of one run."""
    if found := over_floor(report):
        yield (
            f"recall over its floor: {found['floor_p50']} at p50, {found['floor_p95']} at p95; "
            f"over embedding and both engines at once: {found['parallel_p50']} and {found['parallel_p95']}"
        )
    for name, figures in report.get("peers", {}).items():
        if not isinstance(figures, Mapping) or "recall_ms" not in figures:
            yield f"peer {name}: skipped, {figures['skipped'] if isinstance(figures, Mapping) else figures}"
        elif "own" in report:
            own = report["own"]
            ratio = figures["recall_ms"]["p50"] / own["without_embedding_ms"]["p50"]
            yield (
                f"peer {name}: {ratio:.2f} times our p50, recall@10 {figures['recall_at_10']} "
                f"(ours {own['recall_at_10']}), loaded in {figures['load_seconds']} s"
            )
    for count, over in report.get("cross_encoder", {}).get("over_none", {}).items():
        yield (
            f"recall with a cross-encoder over {count} candidates: {over['p50']} times one without at p50, "
            f"{over['p95']} at p95"
        )
    for name, ratio in report.get("gateway_ratio", {}).items():
        yield f"a recall over {name}: {ratio} times one over gRPC at p95"
    for name, ratio in report.get("lists_ratio", {}).items():
        first = report["lists_first_ms"][name]
        yield f"{name}: {ratio} times a scan of the columns at p50; the first call {first} ms"
    for name, ratio in report.get("profile_ratio", {}).items():
        first = report["profile_first_ms"][name]
        yield f"profile, {name} stated: {ratio} times one with none at p50; the first call {first} ms"
    if live := report.get("live"):
        yield f"under {live['events_per_second']} events/s: p95 is {live['busy_over_quiet_p95']} times quiet"


def plain_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Figures whose unit is not milliseconds."""
    if found := report.get("throughput"):
        yield (
            f"{found['callers']} callers: {found['recalls_per_second']} recalls/s, p95 {found['p95_ms']} ms, "
            f"{found['refused']} refused"
        )
    if found := report.get("freshness_s"):
        yield f"published to recallable: p50 {found['p50']} s, p95 {found['p95']} s"
    if found := report.get("ingest"):
        yield from _ingest_lines(found)
    if found := report.get("memory_bytes"):
        parts = (f"{found[name] / _MIB:,.0f} MiB {name}" for name in ("resident", "anonymous", "mapped"))
        yield f"query service: {', '.join(parts)}"
    yield from _memory_lines(report)
    yield from codes_lines(report)
    if "start_s" in report:
        yield f"start to first answer: {report['start_s']} s"
    if report.get("unanswered"):
        yield f"unanswered: {report['unanswered']} recalls, every channel was late"
    if "dense_recall_at_100" in report:
        yield f"dense recall@100 against exact: {report['dense_recall_at_100']}"
    if found := report.get("reference_ms"):
        slowest = max(found, key=lambda name: found[name])
        yield (
            f"one core's reference work took {min(found.values())} to {found[slowest]} ms before the "
            f"sections, most before {slowest}"
        )
    for name, reason in report.get("failed", {}).items():
        yield f"{name} failed: {reason}"


def _memory_lines(report: Mapping[str, Any]) -> Iterator[str]:
    if reads := report.get("page_reads"):
        yield (
            f"memory: one row of a page at random {reads['random_4k_ns']} ns in pages of 4 KiB, "
            f"{reads['random_huge_ns']} in huge ones ({reads['huge_pages']}); a new page "
            f"{reads['fault_ns']} ns; {reads['sequential_gb_per_s']} GB/s in sequence"
        )
    if faults := report.get("page_faults"):
        yield (
            f"page faults of a recall: {faults['minor']} minor, {faults['major']} major; "
            f"pages of files read again by the machine meanwhile: {faults['put_out']:,}"
        )


def _ingest_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"ingest: {found['memories_per_second']} memories/s, {found['of_embedder']:.0%} of the embedder "
        f"alone on the same texts ({found['embedder_per_second']}/s); the whole stack "
        f"{found['whole_stack_per_second']}/s, {found['whole_stack_of_embedder']:.0%}"
    )
    if spent := found.get("cpu_ms_per_event"):
        parts = ", ".join(f"{name} {value}" for name, value in spent.items() if name != "total")
        yield (
            f"processor time of an event: {spent['total']} ms ({parts}); the embedder alone "
            f"{found['embedder_cpu_ms_per_event']} ms, {found['embedder_cpu_of_whole_stack']:.0%} of it"
        )
