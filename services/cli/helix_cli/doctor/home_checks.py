"""Checks of a home: free space, records and locks of runs, the configuration of NATS, the model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Final

from helix_cli.doctor.finding import Finding, ok
from helix_cli.home.folder import HomeFolder
from helix_cli.home.leftovers import leftovers
from helix_cli.home.lock import is_starting
from helix_cli.home.record import read_record, running_record
from helix_cli.output.terminal import size
from helix_cli.stack.hold import is_held, is_wanted
from helix_shared.encoders.model import load_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import HelixError, NotFoundError

LEAST_FREE: Final = 0.05
LEAST_FREE_BYTES: Final = 2 * 1024**3
SYNCED: Final = "sync_interval: always"


def home_checks(home: HomeFolder) -> Iterator[Finding]:
    """All checks that need no server."""
    if not home.root.is_dir():
        yield Finding(
            "home", "problem", f"{home.root} does not exist", "nothing was ever started there",
            "name the right home with --home or HELIX_HOME, or run `helix up`",
        )  # fmt: skip
        return
    yield ok("home", str(home.root))
    yield _space(home)
    yield from _runs(home)
    yield _sync(home)
    yield _model(home)


def _space(home: HomeFolder) -> Finding:
    usage = shutil.disk_usage(home.root)
    found = f"{size(usage.free)} free of {size(usage.total)}"
    if usage.free >= min(LEAST_FREE_BYTES, LEAST_FREE * usage.total):
        return ok("space", found)
    return Finding(
        "space", "problem", found, "a full disk stops the writer, and NATS refuses events",
        "free space, or move the home to a larger disk",
    )  # fmt: skip


def _runs(home: HomeFolder) -> Iterator[Finding]:
    """Records and locks of `helix up` and of commands."""
    record = read_record(home)
    if record is None:
        yield Finding("run", "note", "no `helix up` runs on this home")
        return
    if running_record(home) is not None and is_starting(home):
        yield ok("run", f"`helix up` runs, NATS at {record.nats_url}, query at {record.query_address}")
        if is_held(home) and not is_wanted(home):
            yield Finding(
                "hold", "warning", "the writer is held for a command that has ended",
                "nothing is embedded or written", "`helix up` starts it again by itself within seconds",
            )  # fmt: skip
        return
    try:
        left = leftovers(record)
    except HelixError as error:
        yield Finding("run", "problem", str(error), "the record of a run that ended by force is left")
        return
    if left:
        named = ", ".join(f"{name} ({pid})" for name, pid in left.items())
        yield Finding(
            "run", "problem", f"left over from a `helix up` that was killed: {named}",
            "they still use the home", "start `helix up`: it ends them first",
        )  # fmt: skip
    else:
        yield Finding(
            "run", "warning", f"stale record {home.run / 'up.json'}",
            "a `helix up` was killed; its record names processes that are gone",
            "`helix doctor --repair` removes it, as the next `helix up` does", "unlock",
        )  # fmt: skip


def _sync(home: HomeFolder) -> Finding:
    """Whether the NATS server of the home syncs every message: no client can ask it."""
    path = home.nats / "nats.conf"
    try:
        text = path.read_text()
    except OSError:
        return Finding("sync", "note", "no NATS server of its own was started in this home")
    if SYNCED in text:
        return ok("sync", f"NATS syncs each message to disk ({SYNCED})")
    return Finding(
        "sync", "problem", f"{path} lacks {SYNCED!r}", "a power cut loses events that were acknowledged",
        "start `helix up` again, which writes the file",
    )  # fmt: skip


def _model(home: HomeFolder) -> Finding:
    try:
        card = load_card(default_model(home.models))
    except NotFoundError as error:
        return Finding("model", "warning", str(error), "nothing can be embedded", "`helix models build`")
    except HelixError as error:
        return Finding(
            "model", "problem", str(error), "a file of the model is missing or changed",
            "remove its folder, and `helix models build` or import it again",
        )  # fmt: skip
    return ok("model", f"{card.name}, all files as its card says ({card.checksum[:12]})")
