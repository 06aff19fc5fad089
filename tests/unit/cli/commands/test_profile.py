import json
from datetime import UTC, datetime

from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.recall.v1 import recall_pb2

from .fake_service import FakeService


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code and both outputs of a command."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)
    return result.exit_code, result.stdout, result.stderr


def fill(service: FakeService) -> None:
    """A profile of one line."""
    line = service.profile_reply.profile.lines.add(
        text="I'm [red]allergic[/red] to nuts (2026-03-01)", part=recall_pb2.PROFILE_PART_STATIC
    )
    line.facets.append("constraint")
    line.memory_ids.extend(["ab" * 16, "cd" * 16])
    line.occurred_at.FromDatetime(datetime(2026, 3, 1, tzinfo=UTC))
    service.profile_reply.profile.text = "About the user:\n- I'm allergic to nuts [p1]"
    service.profile_reply.profile.left_out = 3


def test_a_profile_is_shown_with_its_facets_and_dates(service: FakeService) -> None:
    """Markup in a text is printed as it is, and the request carries every option."""
    fill(service)
    caller = ("--tenant", "acme", "--user", "ana", "--principal", "hr", "--query", service.address)
    options = ("--budget", "50", "--as-of", "2026-11-01", "--tz", "UTC", "--min-seq", "7")
    code, out, _ = run("profile", *caller, *options)
    assert code == 0
    assert "about the user" in out
    assert "I'm [red]allergic[/red] to nuts" in out
    assert "3 lines had no room" in out
    sent = service.profile_request
    assert (sent.scope.user_id, list(sent.scope.principals), sent.token_budget) == ("ana", ["hr"], 50)
    assert (sent.min_seq, sent.as_of.ToDatetime(tzinfo=UTC)) == (7, datetime(2026, 11, 1, tzinfo=UTC))


def test_a_profile_for_a_program_or_a_prompt(service: FakeService) -> None:
    """--json has the ids, --packed the text alone."""
    fill(service)
    caller = ("--tenant", "acme", "--query", service.address)
    line = json.loads(run("profile", *caller, "--json")[1])["profile"]["lines"][0]
    assert line["memory_ids"] == ["ab" * 16, "cd" * 16]
    assert run("profile", *caller, "--packed")[1] == "About the user:\n- I'm allergic to nuts [p1]\n"


def test_an_empty_profile_of_nobody_says_how_to_ask_for_somebody(service: FakeService) -> None:
    """As a list and a recall do."""
    caller = ("--tenant", "acme", "--query", service.address)
    assert "hint: without --user" in run("profile", *caller)[2]
    assert "hint" not in run("profile", *caller, "--user", "ana")[2]
    fill(service)
    assert "hint" not in run("profile", *caller)[2]


def test_a_profile_needs_a_tenant() -> None:
    """As `helix recall` does."""
    code, _, err = run("profile", "--query", "127.0.0.1:1")
    assert code == 2
    assert "--tenant" in err
