"""Publishing an export with a progress bar: for `helix import` and `helix clone`.

What checks and publishes is imported for an export alone, since it imports the ledger of consolidation.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from helix_cli.clients.broker import client_of, require_events_stream, run_async
from helix_cli.clients.sending import Tally
from helix_cli.commands.common.publishing import outcome, summary
from helix_cli.home.addresses import Server
from helix_cli.output.progress import progress
from helix_cli.output.terminal import note
from helix_memory.transport import dead_letters
from helix_shared.errors import InvalidInputError
from helix_shared.event_log.export_file import COMPRESSION_ERRORS, is_export, opened_export

if TYPE_CHECKING:
    from helix_cli.exchange.import_export import Checked

STANDARD_INPUT: Final = Path("-")
_FIRST_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of an export; the tenant is that of its events now, empty where they keep theirs."""

    tally: Tally
    checked: Checked
    answers: int
    tenant: str


@contextlib.contextmanager
def export_among(paths: Sequence[Path]) -> Iterator[Path | None]:
    """The export that a command names, standard input copied to a file; None where none is one.

    Raises:
        InvalidInputError: an export is named together with other files.
    """
    if list(paths) == [STANDARD_INPUT]:
        with tempfile.NamedTemporaryFile(prefix="helix-import-") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            if not _is_export(Path(copy.name)):
                raise InvalidInputError("paths", "standard input is no export of `helix export`")
            yield Path(copy.name)
        return
    exports = [path for path in paths if path.is_file() and _is_export(path)]
    if exports and len(paths) > 1:
        raise InvalidInputError("paths", f"{exports[0]} is an export; name it alone")
    yield exports[0] if exports else None


def take(path: Path, *, tenant: str, server: Server, tracked: bool, name: str = "") -> Taken:
    """Check an export and publish it; with `tenant` its one tenant is renamed.

    Raises:
        CorruptArtifactError: it is damaged; nothing was published.
    """
    from helix_cli.exchange.import_export import check, publish_export  # noqa: PLC0415  see above

    checked = check(path, name=name, renames=bool(tenant))
    renaming = checked.renaming(tenant)
    if renaming:
        note(f"tenant {renaming.old} becomes {renaming.new}")
    tally = Tally(places={} if tracked else None)
    started = time.monotonic()

    async def work() -> int:
        async with client_of(server) as client:
            await require_events_stream(client.jetstream())
            if tracked:
                tally.letters_before = await dead_letters.last_sequence(client.jetstream())
            with progress() as bar:
                task = bar.add_task("importing", total=checked.header.events)
                return await publish_export(
                    client, checked, renaming, tally=tally, advance=lambda: bar.advance(task)
                )

    try:
        answers = run_async(work())
    except BaseException:
        if tally.last_sequence:
            note(f"{outcome(tally)}; not everything was; repeat the command, nothing is stored twice")
        raise
    tally.seconds = time.monotonic() - started
    if checked.header.left_out:
        note(f"the export lacks {checked.header.left_out} events, of which a memory was erased")
    if renaming and renaming.unknown:
        note(f"{len(renaming.unknown)} ids of memories are of no event of the export and stay as they are")
    return Taken(tally, checked, answers, renaming.new if renaming else "")


def report_taken(taken: Taken, *, as_json: bool) -> None:
    """Say what became of an export."""
    if as_json:
        tenants = [taken.tenant] if taken.tenant else sorted(taken.checked.tenants)
        before = {"refused_before": [asdict(one) for one in taken.tally.refused_before]}
        told = {"answers": taken.answers, "tenants": tenants, "left_out": taken.checked.header.left_out}
        typer.echo(json.dumps(summary(taken.tally) | before | told))
        return
    typer.echo(f"{outcome(taken.tally)}; {taken.answers} recorded answers")


def report_checked(path: Path, *, name: str, as_json: bool) -> None:
    """Check every line of an export, and say what it holds.

    Raises:
        CorruptArtifactError: it is damaged.
    """
    from helix_cli.exchange.import_export import check  # noqa: PLC0415  see above

    checked = check(path, name=name)
    header = checked.header
    if as_json:
        details = {"dry_run": True, "answers": header.answers, "tenants": sorted(checked.tenants)}
        typer.echo(json.dumps({"events": header.events, "helix": header.helix} | details))
        return
    typer.echo(
        f"dry run: {header.events} events and {header.answers} answers of "
        f"{', '.join(sorted(checked.tenants))}, written by helix {header.helix}; "
        f"every line is good, nothing published"
    )


def _is_export(path: Path) -> bool:
    try:
        with opened_export(path) as source:
            return is_export(source.read(_FIRST_BYTES))
    except (OSError, *COMPRESSION_ERRORS):
        return False  # its reader says so
