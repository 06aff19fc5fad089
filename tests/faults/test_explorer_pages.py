"""The explorer in a real browser, over everything that `helix up` runs.

`HELIX_SCREENSHOTS` names a folder for the screenshots; they are for people to look at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helix_cli.stack.stack import Stack
from helix_memory.client import Helix
from tests.faults.chromium import Chromium, chromium_path

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not chromium_path(), reason="no Chromium is installed"),
]

HOSTILE = {
    "markup": "<script>document.title = 'run'</script><img src=x onerror=alert(1)> </textarea>",
    "control": "Bell \x07, right-to-left \u202egnp.exe\u202c, zero\u200bwidth, \u05e9\u05dc\u05d5\u05dd.",
    "long": "x" * 100_000,
}
SCREENS = {
    "desktop-light": (1280, 900, False),
    "desktop-dark": (1280, 900, True),
    "phone-light": (390, 844, False),
    "phone-dark": (390, 844, True),
}
GATEWAY = {"HELIX_GATEWAY_REQUEST_SECONDS": "60", "HELIX_GATEWAY_WAIT_SECONDS": "120"}


@pytest.fixture(scope="module")
def ids(stack: Stack) -> dict[str, str]:
    """Ten memories, by a word for each."""
    nats, query = (int(one.rpartition(":")[2]) for one in (stack.nats_url, stack.query_address))
    with Helix(nats_port=nats, query_port=query, deadline_seconds=60, wait_seconds=120) as helix:
        with helix.session("planning") as session:
            session.message("When do we deploy the billing service?", role="user", speaker="Ana")
            session.message("We deploy it on Tuesdays from Berlin.", role="assistant", speaker="Helper")
        texts = {
            "vim": "My favourite editor is vim.",
            "helix": "My favourite editor is now helix, not vim any more.",
            "berlin": "Bruno of Acme Corp owns the invoices in Berlin.",
            "postgres": "The database of the billing service is Postgres 16.",
            "hamburg": "The invoices are archived for ten years in Hamburg.",
            **HOSTILE,
        }
        written = {
            name: helix.remember(text, occurred_at=datetime(2026, 11, 1 + day, 9, tzinfo=UTC))
            for day, (name, text) in enumerate(texts.items())
        }
        helix.wait(list(written.values())[-1])
        return {name: one.memory_id for name, one in written.items()}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """One stack for all tests; the deadlines are those of a machine under load."""
    home = tmp_path_factory.mktemp("home") / "home"
    with Stack(
        home, nats_port=0, query_port=0, copies={"gateway": 1}, models=models_dir, environment=GATEWAY
    ) as running:
        running.wait_ready()
        yield running


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    """A browser without a past."""
    with Chromium(tmp_path / "profile") as running:
        yield running


@pytest.fixture
def root(stack: Stack) -> str:
    """Address of the first page."""
    return f"{stack.gateway_url}/explorer"


def test_every_page_is_drawn_within_its_screen_and_nothing_of_others_runs(
    browser: Chromium, root: str, ids: dict[str, str], tmp_path: Path
) -> None:
    """Light and dark, on a desktop and on a phone; the console has nothing to complain of."""
    folder = Path(os.environ.get("HELIX_SCREENSHOTS", tmp_path))
    folder.mkdir(exist_ok=True)
    lab = "q=when+do+we+deploy+the+billing+service"
    pages = {
        "overview": "", "memories": "/memories", "search": "/memories?q=invoices",
        "memory": f"/memories/{ids['helix']}",
        **{name: f"/memories/{ids[name]}" for name in HOSTILE},
        "timeline": "/timeline", "sessions": "/sessions", "session": "/sessions/planning",
        "lab": f"/lab?{lab}&a=helix&b=engram", "why-not": f"/lab/why-not/{ids['vim']}?{lab}&k=1",
        "entities": "/graph", "graph": f"/graph?around={ids['berlin']}&hops=2", "letters": "/letters",
        "login": "/login",
    }  # fmt: skip
    for screen, (width, height, dark) in SCREENS.items():
        browser.look(width=width, height=height, dark=dark)
        for name, path in pages.items():
            browser.open(root + path)
            assert browser.value("document.title").endswith("Helix"), name
            assert browser.value("document.documentElement.scrollWidth") <= width, (screen, name)
            browser.screenshot(folder / f"{name}-{screen}.png")
    assert browser.complaints == []


def test_keys_reach_search_rows_and_pages(browser: Chromium, root: str, ids: dict[str, str]) -> None:
    """And the list of them."""
    assert ids
    browser.open(f"{root}/memories")
    browser.press("j")
    browser.press("j")
    focused = "[...document.querySelectorAll('[data-row]')].indexOf(document.activeElement)"
    assert browser.value(focused) == 1
    browser.press("k")
    assert browser.value(focused) == 0
    browser.press("?")
    assert browser.value("document.getElementById('keys').open")
    browser.press("/")
    assert browser.value("document.activeElement.id") == "search"
    browser.press("Escape")
    browser.value("document.querySelector('input[type=checkbox]').focus()")
    browser.press("j")
    assert browser.value(focused) == 0
    browser.press("g")
    browser.press("t")
    browser.until(lambda: browser.shows("a bar narrows the time"))
    assert browser.complaints == []


@pytest.mark.parametrize("scripted", [True, False])
def test_a_memory_is_corrected_forgotten_and_restored(
    browser: Chromium, root: str, ids: dict[str, str], *, scripted: bool
) -> None:
    """By the forms of the pages, with scripts and without."""
    name, text = ("postgres", "Postgres 17 now.") if scripted else ("hamburg", "Eleven years now.")
    browser.scripts(run=scripted)
    browser.open(f"{root}/memories/{ids[name]}")
    browser.value(f"document.querySelector('textarea').value = {text!r}")
    click = "document.querySelector('form[action$=\"/{}\"] button').click()"
    browser.value(click.format("correct"))
    browser.until(lambda: browser.shows("Corrected."))
    assert browser.value(f"document.getElementById('text').innerText === {text!r}")
    browser.value(click.format("forget"))
    browser.until(lambda: browser.shows("Hidden from answers, with its other versions."))
    assert not browser.value(f"document.getElementById('rows').innerText.includes({text!r})")
    browser.value(click.format("restore"))
    browser.until(lambda: browser.shows("Shown in answers again."))
    assert browser.value(f"document.getElementById('text').innerText === {text!r}")
    browser.value(click.format("undo"))
    browser.until(lambda: browser.shows("The relation was taken back."))
    assert not browser.value(f"document.getElementById('text').innerText === {text!r}")


@pytest.mark.parametrize("scripted", [True, False])
def test_colours_are_chosen_with_and_without_scripts(browser: Chromium, root: str, *, scripted: bool) -> None:
    """The choice holds at once, and outlives the page."""
    browser.scripts(run=scripted)
    browser.open(f"{root}/login")
    browser.doing(lambda: browser.value("document.querySelector('button[value=dark]').click()"))
    assert browser.value("document.documentElement.dataset.theme") == "dark"
    browser.open(f"{root}/login")
    assert browser.value("document.documentElement.dataset.theme") == "dark"


def test_the_way_back_leads_to_the_same_place(browser: Chromium, root: str, ids: dict[str, str]) -> None:
    """A long list is shown where it was left."""
    assert ids
    browser.look(width=390, height=300, dark=False)
    browser.open(f"{root}/memories")
    browser.value("document.querySelector('#rows').lastElementChild.scrollIntoView()")
    place = browser.value("window.scrollY")
    assert place > 0
    browser.value("[...document.querySelectorAll('#rows a.open')].at(-1).click()")
    browser.until(lambda: browser.shows("History and relations"))
    browser.doing(lambda: browser.value("history.back()"))
    browser.until(lambda: browser.value("document.querySelector('h1').innerText") == "Memories")
    assert abs(browser.value("window.scrollY") - place) < 1


def test_the_way_back_shows_what_is_there_now(browser: Chromium, root: str, ids: dict[str, str]) -> None:
    """A memory that was forgotten meanwhile is not found, and can be restored."""
    browser.open(f"{root}/memories/{ids['berlin']}")
    browser.value("document.querySelector('form[action$=\"/forget\"] button').click()")
    browser.until(lambda: browser.shows("Hidden from answers."))
    browser.doing(lambda: browser.value("history.back()"))
    browser.until(lambda: browser.shows("Not found"))
    browser.value("document.querySelector('form[action$=\"/restore\"] button').click()")
    browser.until(lambda: browser.shows("Shown in answers again."))
