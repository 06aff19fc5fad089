"""Restarts children that end or do not answer any more, after a delay that grows while they keep ending.

One thread watches all of them; `liveness` tells which does not answer. A child that refuses its settings
(exit code 78) is not restarted, because it would refuse them again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from helix_cli.home.leftovers import DRAIN_SECONDS
from helix_cli.stack.children import Child, end_of
from helix_cli.stack.liveness import Liveness
from helix_shared.errors import CONFIG_ERROR_EXIT, HelixError

FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 30.0
STABLE_SECONDS: Final = 60.0
"""A child that ran this long is restarted after the shortest delay."""
CHECK_SECONDS: Final = 0.1

Say = Callable[[str], None]


def restart_delay(failures: int) -> float:
    """Seconds before the restart after the `failures`-th end in a row: 0.5, 1, 2, ... 30."""
    return min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(failures - 1, 10))


@dataclass(slots=True)
class _Watched:
    child: Child
    failures: int = 0
    started_at: float = 0.0
    restart_at: float | None = None
    is_held: bool = False


class Supervisor:
    """Watches children between `watch` and `release`; `refusal` says which one refused its settings."""

    def __init__(
        self,
        *,
        say: Say,
        changed: Callable[[], None],
        hurry: threading.Event | None = None,
        look: Callable[[], None] = lambda: None,
        liveness: Liveness | None = None,
    ) -> None:
        """A running child that is silent, says `liveness`, is killed and started again.

        `changed` is called after a child was started again, `look` at every check, both in the supervisor's
        thread; `hurry` ends the waits of `hold`.

        After an error of one of them both are called again at the next check.
        """
        self.refusal = ""
        self._liveness = liveness or Liveness()
        self._hurry = hurry or threading.Event()
        self._look = look
        self._trouble = ""
        self._say = say
        self._changed = changed
        self._is_recorded = True
        self._watched: list[_Watched] = []
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="supervisor")

    def watch(self, children: Sequence[Child]) -> None:
        """Start watching; the children run already."""
        now = time.monotonic()
        self._watched = [_Watched(child, started_at=now) for child in children]
        self._thread.start()
        self._liveness.watch(children)

    def hold(self, children: Sequence[Child]) -> None:
        """End children and leave them ended until `resume`; only for `look`."""
        for watched in self._watched:
            watched.is_held = watched.is_held or watched.child in children
        drain(children, hurry=self._hurry, say=self._say)

    def resume(self) -> None:
        """Start the held children; only for `look`."""
        for watched in self._watched:
            if watched.is_held:
                watched.is_held, watched.failures = False, 0
                self._restart(watched)

    def restart(self, children: Sequence[Child]) -> None:
        """End children and start them again at once; only for `look`."""
        self.hold(children)
        self.resume()

    def release(self) -> None:
        """Stop watching; after this returns, no child is restarted."""
        self._released.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._liveness.close()

    def _run(self) -> None:
        while not self._released.wait(CHECK_SECONDS):
            for watched in self._watched:
                if not watched.is_held:
                    self._try(partial(self._check, watched))
            if self._try(self._look_once):
                self._trouble = ""

    def _try(self, step: Callable[[], None]) -> bool:
        """Whether a step had no error; one is said once, and ends no supervision."""
        try:
            step()
        except Exception as error:  # noqa: BLE001  without this thread nothing is started again
            if str(error) != self._trouble:
                self._trouble = str(error)
                with contextlib.suppress(OSError):  # nobody reads the output any more
                    self._say(f"tried again: {error}")
            return False
        return True

    def _look_once(self) -> None:
        if not self._is_recorded:
            self._changed()
            self._is_recorded = True
        self._look()

    def _check(self, watched: _Watched) -> None:
        now = time.monotonic()
        if watched.restart_at is not None:
            if now >= watched.restart_at:
                self._restart(watched)
            return
        code = watched.child.ended()
        if code is None:
            if reason := self._liveness.silence(watched.child):
                self._say(f"{watched.child.name} {reason}: killed")
                watched.child.kill()
            return
        reason = end_of(watched.child.name, code, watched.child.log)
        if code == CONFIG_ERROR_EXIT:
            self.refusal = self.refusal or reason
            return
        self._schedule(watched, reason, run_seconds=now - watched.started_at)

    def _schedule(self, watched: _Watched, reason: str, *, run_seconds: float) -> None:
        watched.failures = 1 if run_seconds >= STABLE_SECONDS else watched.failures + 1
        delay = restart_delay(watched.failures)
        watched.restart_at = time.monotonic() + delay
        self._say(f"{reason}; starts again in {delay:g} s, log: {watched.child.log}")

    def _restart(self, watched: _Watched) -> None:
        watched.restart_at = None
        watched.started_at = time.monotonic()
        try:
            watched.child.start()
        except (HelixError, OSError) as error:
            self._schedule(watched, f"{watched.child.name} cannot start: {error}", run_seconds=0)
            return
        # a full disk must not end the supervision: it is recorded with the next look
        self._is_recorded = False
        self._say(f"{watched.child.name} started again")


def drain(children: Sequence[Child], *, hurry: threading.Event, say: Say) -> None:
    """End children: SIGTERM, wait up to `DRAIN_SECONDS` or until `hurry`, then SIGKILL."""
    for child in children:
        if child.ended() is None:
            child.terminate()
    deadline = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < deadline and not hurry.is_set():
        if all(child.ended() is not None for child in children):
            return
        time.sleep(CHECK_SECONDS / 2)
    for child in children:
        if child.ended() is None:
            say(f"{child.name} did not drain in time: killed")
            child.kill()
