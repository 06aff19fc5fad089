"""A headless Chromium, driven over a pipe: it opens pages, answers scripts and takes screenshots."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
SECONDS: Final = 60.0
READ: Final = 3
WRITE: Final = 4


def chromium_path() -> str:
    """Where it is; empty: it is not installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), "")


class PageError(Exception):
    """The browser refused a call, or a script failed; a page that is being left refuses every one."""


class Chromium:
    """One browser with one tab, as a context manager."""

    def __init__(self, folder: Path) -> None:
        """`folder` is new and empty."""
        self._to_read, child_writes = os.pipe()
        child_reads, self._to_write = os.pipe()
        # the browser reads from 3 and writes to 4
        numbers = f"{READ}<&{child_reads} {WRITE}>&{child_writes}"
        command = [chromium_path(), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" {numbers}', "chromium", *command],
            pass_fds=(child_reads, child_writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_reads)
        os.close(child_writes)
        self._number, self._rest, self._session = 0, b"", ""
        self._events: list[dict[str, Any]] = []
        self.complaints: list[str] = []
        """What the console said: refused by the policy, failed, or an error of a script."""

    def __enter__(self) -> Self:
        [tab] = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=tab["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(SECONDS)
        os.close(self._to_read)
        os.close(self._to_write)

    def look(self, *, width: int, height: int, dark: bool) -> None:
        """Be a screen of this size and colour scheme."""
        mobile = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def scripts(self, *, run: bool) -> None:
        """Whether pages may run scripts."""
        self.call("Emulation.setScriptExecutionDisabled", value=not run)

    def open(self, url: str) -> None:
        """Open a page and wait until it is loaded."""
        self.doing(lambda: self.call("Page.navigate", url=url))

    def doing(self, act: Callable[[], object]) -> None:
        """Do what loads a page, and wait until it is loaded."""
        self._events.clear()
        act()
        self.until(lambda: any(one["method"] == "Page.loadEventFired" for one in self._events))

    def value(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise PageError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def shows(self, text: str) -> bool:
        """Whether a text stands on the page."""
        try:
            return bool(self.value(f"(document.body?.innerText ?? '').includes({json.dumps(text)})"))
        except PageError:
            return False

    def press(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, file: Path, *, height: int = 0) -> None:
        """Write what the page shows, at most `height` pixels of it."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0,
            "y": 0,
            "width": size["width"],
            "height": min(size["height"], height or 2_000),
            "scale": 1,
        }
        data = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)[
            "data"
        ]
        file.write_bytes(base64.b64decode(data))

    def until(self, is_so: Callable[[], object]) -> None:
        """Wait for a condition."""
        end = time.monotonic() + SECONDS
        while not is_so():
            assert time.monotonic() < end, "the browser does not come to it"
            self._receive(0.2)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to_write, json.dumps(message).encode() + b"\0")
        answers: list[dict[str, Any]] = []
        end = time.monotonic() + SECONDS
        while not answers:
            assert time.monotonic() < end, f"no answer to {method}"
            answers = [one for one in self._receive(1.0) if one.get("id") == self._number]
        if "error" in answers[0]:
            raise PageError(answers[0]["error"])
        result: dict[str, Any] = answers[0]["result"]
        return result

    def _receive(self, seconds: float) -> list[dict[str, Any]]:
        """Messages that came; those that answer nothing are kept."""
        if not select.select([self._to_read], [], [], seconds)[0]:
            return []
        self._rest += os.read(self._to_read, 1 << 20)
        *whole, self._rest = self._rest.split(b"\0")
        found = [json.loads(one) for one in whole]
        self._events += [one for one in found if "method" in one]
        for one in found:
            if one.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.complaints.append(json.dumps(one["params"])[:500])
            if one.get("method") == "Page.javascriptDialogOpening":
                self.complaints.append("a dialog opened")
        return found
