"""Dead letters of a secured stack, redriven and dropped by the forms of the explorer."""

import json
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from helix_cli.stack.stack import Stack
from helix_memory.identity import memory_id
from tests.integration.test_cli.running import run, until

pytestmark = pytest.mark.integration

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module", autouse=True)
def _no_letters(stack: Stack) -> None:
    """Those of other files are dropped."""
    run(stack.home.root, "dlq", "drop", "--all", "--yes")


class Viewer:
    """A browser of a viewer with a new token."""

    def __init__(self, stack: Stack, *roles: str) -> None:
        options = [part for role in roles for part in ("--role", role)]
        code, out, err = run(stack.home.root, "security", "token", "--tenant", "acme", *options)
        assert code == 0, err
        trusted = ssl.create_default_context(cafile=str(stack.home.root / "security" / "ca.pem"))
        self._client = httpx.Client(
            base_url=stack.gateway_url,
            headers={"authorization": f"Bearer {out.strip()}"},
            verify=trusted,
            timeout=90,
        )
        self._origin = stack.gateway_url

    def page(self, path: str) -> str:
        """What a page says."""
        answer = self._client.get(f"/explorer{path}")
        assert answer.status_code == 200, answer.text
        return answer.text

    def send(self, action: str, *letters: int, key: str | None = None) -> httpx.Response:
        """Send a form of the page of letters, by default with the key of its session."""
        found = re.search(r'name="form_key" value="(\w+)"', self.page("/login"))
        assert found
        fields = {"form_key": found[1] if key is None else key, "letters": ",".join(map(str, letters))}
        headers = {"origin": self._origin, "content-type": FORM}
        return self._client.post(f"/explorer/letters/{action}", data=fields, headers=headers)

    def close(self) -> None:
        """End its connections."""
        self._client.close()


@pytest.fixture
def admin(stack: Stack) -> Iterator[Viewer]:
    """Who may settle letters."""
    viewer = Viewer(stack, "recall", "admin")
    yield viewer
    viewer.close()


def refused(stack: Stack, fault: Path, *events: str) -> list[int]:
    """Publish events that ingest refuses; the sequences of their letters, oldest first."""
    fault.touch()
    for event in events:
        text = f"The mercury gauge {event} stands in hall 7."
        run(stack.home.root, "publish", "--kind", "memory", "--event-id", event, "--text", text, "--wait")
    return sorted(one["sequence"] for one in letters(stack))


def letters(stack: Stack) -> list[dict[str, Any]]:
    """What `helix dlq ls` prints."""
    code, out, err = run(stack.home.root, "dlq", "ls", "--json")
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)
    return found


def listed(stack: Stack, event: str) -> int:
    """How often the memory of an event is listed."""
    code, out, err = run(stack.home.root, "memory", "ls", "--limit", "200", "--json")
    assert code == 0, err
    wanted = memory_id("acme", event, 0)
    return [one["memory_id"] for one in json.loads(out).get("memories", [])].count(wanted)


def records(stack: Stack, call: str) -> list[dict[str, Any]]:
    """Audit records of a call, oldest first."""
    code, out, err = run(stack.home.root, "audit", "ls", "--tenant", "acme", "--json")
    assert code == 0, err
    return [one for one in json.loads(out) if one["call"] == call]


def test_a_letter_is_redriven_once_by_its_form_however_often_it_is_sent(
    stack: Stack, fault: Path, admin: Viewer
) -> None:
    """With the defect it is refused again; after the repair a generation holds it, and the audit says who."""
    (letter,) = refused(stack, fault, "gauge-1")
    assert f'name="letters" value="{letter}"' in admin.page(f"/letters/{letter}")
    went = admin.send("redrive", letter)
    assert went.status_code == 303, went.text
    (again,) = letters(stack)
    address = f"/letters/{again['sequence']}?done=refused%3A1"
    assert went.headers["location"] == f"/explorer{address}"
    assert "1 refused again, with a new letter" in admin.page(address)
    assert again["redrives"] == 1

    fault.unlink()
    went = admin.send("redrive", again["sequence"])
    assert went.headers["location"] == "/explorer/letters?done=processed%3A1"
    assert letters(stack) == []
    assert admin.send("redrive", again["sequence"]).headers["location"].endswith("done=not+possible%3A1")
    until(lambda: listed(stack, "gauge-1"))  # a query service serves the generation a moment later
    assert listed(stack, "gauge-1") == 1
    found = records(stack, "letters.redrive")
    assert [(one["outcome"], one["count"]) for one in found] == [("FAILED_PRECONDITION", 1), ("OK", 1)]
    assert all(one["credential"] and "admin" in one["roles"] and one["address"] for one in found)
    refusals = (stack.home.nats / "nats.log").read_text()
    assert "Violation" not in refusals, "the rights of gateway and writer suffice"


def test_the_letters_of_a_page_are_dropped_together(stack: Stack, fault: Path, admin: Viewer) -> None:
    """Their events have no effect afterwards, and the audit has one record of the tenant."""
    sequences = refused(stack, fault, "gauge-2", "gauge-3")
    assert f'name="letters" value="{sequences[1]},{sequences[0]}"' in admin.page("/letters")
    went = admin.send("drop", *sequences)
    assert went.headers["location"] == "/explorer/letters?done=dropped%3A2"
    assert "No dead letters" in admin.page("/letters")
    fault.unlink()
    assert listed(stack, "gauge-2") == listed(stack, "gauge-3") == 0
    (record,) = records(stack, "letters.drop")
    assert (record["outcome"], record["count"]) == ("OK", 2)


def test_only_an_admin_with_a_form_of_the_page_settles_letters(
    stack: Stack, fault: Path, admin: Viewer
) -> None:
    """Without the role, without the key of the form, and for no letter nothing happens."""
    (letter,) = refused(stack, fault, "gauge-4")
    writer = Viewer(stack, "recall", "write")
    assert writer.send("drop", letter).status_code == 403
    writer.close()
    assert admin.send("drop", letter, key="0" * 64).status_code == 403
    assert admin.send("drop", letter, 0).status_code == 400
    assert admin.send("drop", *range(letter, letter + 101)).status_code == 400
    assert [one["sequence"] for one in letters(stack)] == [letter]
    assert admin.send("drop", letter).status_code == 303
    assert letters(stack) == []
    fault.unlink()
