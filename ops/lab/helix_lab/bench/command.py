"""`helix-lab bench`: what recall costs at a size, in one report. A section that fails loses no other.

Data is built once (`build_cache`). A run works on a clone with the whole stack over it (`run_folder`).
Absolute times depend on the machine, so the ratios of one run count.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from helix_cli.model_build.default_model import ensure_default_model
from helix_cli.stack.services import QUERY
from helix_cli.stack.stack import Stack
from helix_lab.bench.generate.build_cache import ensure_built
from helix_lab.bench.generate.load import BuildInfo, read_build_info
from helix_lab.bench.machine import machine, reference_ms
from helix_lab.bench.reading.cross_encoder import cross_encoder_section
from helix_lab.bench.reading.floor import dense_section, floor_section
from helix_lab.bench.reading.list_calls import lists_section
from helix_lab.bench.reading.memory import Faults, page_reads
from helix_lab.bench.reading.peer_engines import peers_section
from helix_lab.bench.reading.profile_calls import profile_section
from helix_lab.bench.reading.recall_load import (
    WARM_UP,
    Asked,
    ask,
    asked_texts,
    memory_bytes,
    recall_section,
    saturate,
    start_seconds,
)
from helix_lab.bench.reading.token_codes import codes_section
from helix_lab.bench.reading.vector_indices import index_section
from helix_lab.bench.report_files import write_bench
from helix_lab.bench.run_folder import stack_over
from helix_lab.bench.table import print_report
from helix_lab.bench.writing.ingest_rate import ingest_section
from helix_lab.bench.writing.live_ingest import freshness_section, live_section
from helix_lab.gateway_calls import gateway_section
from helix_shared.errors import HelixError, InvalidInputError
from helix_shared.settings import helix_home

SECTIONS: Final = (
    *("recall", "throughput", "memory", "floor", "dense", "gateway", "lists", "freshness", "live", "ingest"),
    "profile",
    *("start", "index", "codes", "cross_encoder", "peers"),
)
"""In the order in which they run: sections that change the data come last."""
OVER_STACK: Final = SECTIONS[:11]
WITHOUT_MEMORIES: Final = {"index", "codes"}
"""Need generated vectors or codes only, so with `--only index,codes` no memories are built."""
DATA: Final = Path("../shared/data")
PEERS_PYTHON: Final = Path(".venv-peers/bin/python")

console = Console()


@dataclass(slots=True)
class Bench:
    """One run: its data, its queries, and the report so far."""

    built: Path
    info: BuildInfo
    models: Path
    queries: list[tuple[str, str]]
    peers_python: Path
    peer_seconds: float
    index: Callable[[int], dict[str, Any]]
    """The section of the vector index, for a number of vectors."""
    codes: Callable[[int], dict[str, Any]]
    """The section of token codes, for a number of memories."""
    report: dict[str, Any]
    asked: Asked = field(default_factory=Asked)


def bench(
    n: Annotated[int, typer.Option("--n", help="Memories.", min=100, max=1_000_000)] = 10_000,
    queries: Annotated[int, typer.Option(help="Recalls to time.", min=10, max=10_000)] = 400,
    out: Annotated[Path | None, typer.Option(help="Report: JSON; bench.md and charts beside.")] = None,
    only: Annotated[str, typer.Option(help=f"Sections, comma between: {', '.join(SECTIONS)}.")] = "",
    data: Annotated[Path, typer.Option(help="Sets whose texts are varied; else invented ones.")] = DATA,
    built: Annotated[Path | None, typer.Option(help="Data built before, by any version of the code.")] = None,
    seed: Annotated[int, typer.Option(help="Of everything drawn.")] = 7,
    peer_seconds: Annotated[float, typer.Option(help="Each peer may take so long.", min=1)] = 900.0,
    peers_python: Annotated[Path, typer.Option(help="Python of the peers.")] = PEERS_PYTHON,
    *,
    build_only: Annotated[bool, typer.Option("--build-only", help="Measure nothing.")] = False,
) -> None:
    """Generate memories once, and measure recall, its floor, peers, live ingest and memory over them."""
    chosen = _sections(only)
    if out is not None and out.suffix != ".json":
        raise InvalidInputError("out", f"is {out.name}: end it in .json")
    report: dict[str, Any]
    models = helix_home() / "models"
    ensure_default_model(models)
    index = partial(index_section, helix_home() / "lab", models, data, seed=seed, queries=queries)
    codes = partial(codes_section, helix_home() / "lab", seed=seed, queries=queries)
    if WITHOUT_MEMORIES.issuperset(chosen):
        alone = {"index": index, "codes": codes}
        report = {"n": n, "machine": machine()}
        for name in chosen:
            report |= alone[name](n)
        _finish(report, out)
        return
    folder, info = (built, read_build_info(built)) if built else _build(n, data, models, seed)
    console.print(f"{info.n:,} memories, {info.tenant_memories:,} of them {info.tenant}'s: {folder}")
    if build_only:
        return
    report = {
        "n": info.n,
        "tenant_memories": info.tenant_memories,
        "machine": machine(),
    }
    run = Bench(
        folder, info, models, asked_texts(info, queries), peers_python, peer_seconds, index, codes, report
    )
    signal.signal(signal.SIGTERM, _end)
    measure(run, chosen, done=lambda: None if out is None else write_bench(report, out))
    _finish(report, out)


def _finish(report: dict[str, Any], out: Path | None) -> None:
    """Show the report, write it to `out`, and fail if a section failed."""
    print_report(report, console)
    if out is not None:
        console.print(f"written: {', '.join(map(str, write_bench(report, out)))}")
    if report.get("failed"):
        raise typer.Exit(1)


def _end(*_: object) -> None:
    """Services run in process groups of their own: they end when the stack is left, and only then."""
    raise SystemExit(1)


def measure(run: Bench, chosen: list[str], *, done: Callable[[], object] = lambda: None) -> None:
    """Run the chosen sections; what fails is named in `failed`, and the others go on.

    `done` is called after each: a run of hours that is ended keeps what it has.
    """
    over_stack: list[str] = [name for name in OVER_STACK if name in chosen]
    if over_stack:
        try:
            with stack_over(run.built, run.info, run.models) as stack:
                for name in over_stack:
                    _one(run, name, stack)
                    done()
        except HelixError as error:
            _failed(run, "stack", error)
    for name in chosen:
        if name not in OVER_STACK:
            _one(run, name, None)
            done()


def _one(run: Bench, name: str, stack: Stack | None) -> None:
    console.print(f"{name} ...", style="dim")
    run.report.setdefault("reference_ms", {})[name] = reference_ms()
    try:
        run.report |= _WORK[name](run, stack)
    except Exception as error:  # noqa: BLE001  one section must not lose the others
        _failed(run, name, error)


def _failed(run: Bench, name: str, error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"
    run.report.setdefault("failed", {})[name] = reason
    console.print(f"{name} failed: {reason}", style="red", markup=False)


def _recall(run: Bench, stack: Any) -> dict[str, Any]:
    pid = _query_pid(stack)
    before = Faults.of(pid)
    run.asked = ask(stack.query_address, run.info, run.queries)
    faults = Faults.of(pid).since(before, recalls=WARM_UP + len(run.queries))
    return recall_section(run.asked) | {"page_faults": faults, "page_reads": page_reads()}


def _memory(_: Bench, stack: Any) -> dict[str, Any]:
    return {"memory_bytes": memory_bytes(_query_pid(stack))}


def _query_pid(stack: Stack) -> int:
    return next(child.pid for child in stack.processes if child.name.startswith(QUERY))


def _start(run: Bench, _: Any) -> dict[str, Any]:
    return start_seconds(run.built, run.models, run.info, run.built.with_name(f".start-{run.info.n}.log"))


def _floor(run: Bench, stack: Any) -> dict[str, Any]:
    texts = [text for text, _ in run.queries]
    return floor_section(stack.query_address, stack.home.data, run.models, run.info, texts)


def _dense(run: Bench, stack: Any) -> dict[str, Any]:
    return dense_section(stack.home.data, run.models, run.info, [text for text, _ in run.queries])


def _cross_encoder(run: Bench, _: Any) -> dict[str, Any]:
    return cross_encoder_section(run.built, run.models, run.info, [text for text, _ in run.queries])


def _peers(run: Bench, _: Any) -> dict[str, Any]:
    return peers_section(
        run.built, run.models, run.info, python=run.peers_python, most_seconds=run.peer_seconds
    )


_WORK: Final[dict[str, Callable[[Bench, Any], dict[str, Any]]]] = {
    "recall": _recall,
    "throughput": lambda run, stack: {"throughput": saturate(stack.query_address, run.info, run.queries)},
    "memory": _memory,
    "floor": _floor,
    "dense": _dense,
    "gateway": lambda run, stack: gateway_section(stack, run.info, run.queries),
    "lists": lambda run, stack: lists_section(stack, run.info),
    "freshness": lambda run, stack: freshness_section(stack, run.info),
    "live": lambda run, stack: live_section(stack, run.info, run.queries),
    "ingest": lambda run, stack: ingest_section(stack, run.info, run.models),
    "profile": lambda run, stack: profile_section(stack, run.info),
    "start": _start,
    "index": lambda run, _: run.index(run.info.n),
    "codes": lambda run, _: run.codes(run.info.n),
    "cross_encoder": _cross_encoder,
    "peers": _peers,
}


def _sections(only: str) -> list[str]:
    names = [name.strip() for name in only.split(",") if name.strip()] or list(SECTIONS)
    for name in names:
        if name not in SECTIONS:
            raise InvalidInputError("only", f"{name!r} is none of {', '.join(SECTIONS)}")
    return names


def _build(n: int, data: Path, models: Path, seed: int) -> tuple[Path, BuildInfo]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("reading base texts", total=n, rate=0.0)

        def advance(written: int) -> None:
            progress.update(task, advance=written, description="writing memories")
            progress.update(task, rate=progress.tasks[0].speed or 0.0)

        return ensure_built(helix_home() / "lab", models, data, n, seed=seed, advance=advance)
