from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.output.exit_codes import exit_code
from helix_shared.errors import (
    CorruptArtifactError,
    HelixError,
    InvalidInputError,
    NotFoundError,
    OverloadedError,
    PermanentError,
    TemporaryError,
)

EMPTY = ["--after", "2027-01-01", "--before", "2026-01-01"]
"""A span with nothing in it."""
NOWHERE = ["--nats", "nats://127.0.0.1:1", "--query", "127.0.0.1:1"]


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    result = CliRunner(env={"COLUMNS": "100", "HELIX_TENANT": ""}).invoke(app, [str(a) for a in arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_overview_shows_three_commands_to_start_with() -> None:
    """`helix` alone prints three commands to start with."""
    code, out, _ = run("--help")
    assert code == 0
    for line in ("helix up", "helix publish --tenant acme", 'helix recall "which database'):
        assert line in out


@pytest.mark.parametrize(
    "command", ["up", "publish", "import", "recall", "status", "provision", "dlq ls", "dlq show"]
)
def test_every_help_has_an_example_and_the_exit_codes(command: str) -> None:
    """Each help has an example and the exit codes."""
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert f"helix {command}" in out
    assert "3 not reachable" in out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInputError("f", "r"), 2),
        (PermanentError("x"), 1),
        (NotFoundError("x"), 1),
        (CorruptArtifactError("x"), 1),
        (TemporaryError("x"), 3),
        (OverloadedError("x"), 1),
    ],
)
def test_each_error_of_the_tree_has_its_exit_code(error: HelixError, code: int) -> None:
    """Each row of the table in `failure`."""
    assert exit_code(error) == code


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "--tenant", "acme", "--text", "hi", "--nats", "nats://127.0.0.1:1"],
        ["recall", "what?", "--tenant", "acme", "--query", "127.0.0.1:1"],
        ["provision", "--nats", "nats://127.0.0.1:1"],
        ["dlq", "ls", "--nats", "nats://127.0.0.1:1"],
    ],
)
def test_an_absent_server_is_one_line_and_exit_code_3(arguments: list[str]) -> None:
    """No traceback, and the address that does not answer is named."""
    code, _, err = run(*arguments)
    assert code == 3
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "127.0.0.1:1" in err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["recall", "what?"], "--tenant"),
        (["recall", "what?", "--tenant", "acme", "--after", "yesterday"], "--after"),
        (["recall", "what?", "--tenant", "acme", "--top-k", "0"], "--top-k"),
        (["recall", "what?", "--tenant", "acme", "--top-k", "4294967296"], "--top-k"),
        (["profile", "--tenant", "acme", "--budget", "99999999999"], "--budget"),
        (["recall", "\udcff", "--tenant", "acme"], "is not UTF-8"),
        (["publish", "--tenant", "acme", "--text", "x", "--set", "tags=" + "[" * 100_000], "tags"),
        (["mcp", "--url", "http://["], "--url"),
        (["dlq", "ls", "--since", "999999d", *NOWHERE[:2]], "--since"),
        (["audit", "ls", "--since", "9999-12-31T23:59:59-12:00", *NOWHERE[:2]], "--since"),
        (["agent", "install", "codex", "--gateway", "http://["], "--gateway"),
        (["security", "jwks", "http://[", "keys"], "issuer"),
        (["security", "jwks", "https://x", "keys", "--every", "9" * 25], "--every"),
        (["recall", "what?", "--tenant", "acme", "--top-k", "9" * 20], "--top-k"),
        (["recall", "what?", "--tenant", "acme", "--mode", "psychic"], "--mode"),
        (["recall", " ", "--tenant", "acme"], "error: question: must hold more than white space"),
        (["why-not", "a" * 32, "", "--tenant", "acme"], "error: question: must hold more than white space"),
        (["memory", "correct", "a" * 32, " ", "--tenant", "acme"], "error: text: must hold more than white"),
        (["import", "."], "--tenant"),
        (["import", "/no/such/place", "--tenant", "acme"], "/no/such/place"),
        (["publish", "--tenant", "acme"], "--text"),
        (["publish", "x.jsonl", "--tenant", "acme", "--text", "both"], "--text"),
        (
            ["publish", "--tenant", "acme", "--kind", "erase", "--wait"],
            "erase needs one of memory_ids, of_session",
        ),
        (["publish", "--tenant", "acme", "--kind", "forget"], "of_document"),
        (["erase", "--tenant", "acme"], "error: arguments: give ids, or one of --of-session"),
        (["erase", "--of-user", "ana", "--of-session", "s1", "--tenant", "acme"], "one of --of-session"),
        (["publish", "--tenant", "acme", "--kind", "undo"], "memory_id"),
        (["publish", "--tenant", "acme", "--kind", "correct"], "--text"),
        (["publish", "--tenant", "acme", "--kind", "feedback"], "unhelpful"),
        (["publish", "--tenant", "acme", "--kind", "session"], "phase"),
        (["publish", "--tenant", "a.b", "--text", "hi"], "error: --tenant: must be 1 to 64 letters"),
        (
            ["publish", "--tenant", "acme", "--session", "a b", "--text", "hi"],
            "error: --session: must be 1 to 64 letters",
        ),
        (["publish", "--tenant", "acme", "--set", "session_id=a b", "--text", "hi"], "error: session_id: "),
        (["audit", "ls", "--tenant", "a b"], "error: --tenant: 'a b' must be 1 to 64 letters"),
        (["publish", "--tenant", "acme", "--text", " "], "error: --text: must hold more than white space"),
        (["publish", "--tenant", "acme", "--tag", "", "--text", "hi"], "error: --tag: must not be empty"),
        (["publish", "--tenant", "acme", "--text", "hi", "--set", "text=ho"], "text is given twice"),
        (
            ["publish", "--tenant", "acme", "--text", "hi", "--role", "assistant", "--set", "role=user"],
            "error: --set: role is given twice",
        ),
        (
            ["publish", "--tenant", "acme", "--text", "hi", "--role", "user", "--set", "role=assistant"],
            "error: --set: role is given twice",
        ),
        (["publish", "--tenant", "acme", "--text", "hi", "--set", "tenant_id=b"], "tenant_id is given twice"),
        (
            ["publish", "--tenant", "acme", "--kind", "memory", "--text", "hi", "--set", "kind=tool"],
            "error: --set: does not take kind; give it with --kind",
        ),
        (
            ["publish", "--tenant", "acme", "--kind", "message", "--text", "hi", "--set", "kind=memory"],
            "error: --set: does not take kind; give it with --kind",
        ),
        (
            ["publish", "--tenant", "acme", "--set", "kind=forget", "--set", "of_session=s1"],
            "error: --set: does not take kind; give it with --kind",
        ),
        (["publish", "--tenant", "acme", "--text", "hi", "--kind", "mesage"], "error: --kind: "),
        (["publish", "--tenant", "acme", "--text", "hi", "--role", "foo"], "error: --role: must be"),
        (["publish", "--tenant", "acme", "--text", "hi", "--set", "role=foo"], "error: role: must be"),
        (
            ["publish", "--tenant", "acme", "--kind", "tool", "--set", "tool=bash", "--text", "hi"],
            "error: --text: does not go with --kind tool",
        ),
        (
            ["publish", "--tenant", "acme", "--type", "decision", "--text", "hi"],
            "error: --type: does not go with --kind message",
        ),
        (["publish", "--tenant", "acme", "--set", "a=1", "--set", "a=2"], "a is given twice"),
        (["publish", "--tenant", "acme", "--kind", "memory", "--role", "tool", "--text", "x"], "--role"),
        (["publish", "x.jsonl", "--role", "tool"], "--role"),
        (["publish", "x.jsonl", "--role", "user"], "error: --role: excludes files"),
        (
            ["publish", "--tenant", "acme", "--kind", "memory", "--role", "user", "--text", "x"],
            "error: --role: must be given with a message only, not memory",
        ),
        (
            [
                "publish",
                "--tenant",
                "acme",
                "--kind",
                "forget",
                "--set",
                "of_session=s",
                "--set",
                "speaker=Bob",
            ],
            "error: --set speaker: does not go with --kind forget",
        ),
        (
            ["publish", "--tenant", "acme", "--text", "hi", "--set", "speeker=Bob"],
            "error: --set speeker: is not a field here",
        ),
        (["publish", "x.jsonl", "--kind", "memory"], "--kind"),
        (
            ["publish", "--tenant", "acme", "--kind", "undo", "--set", "memory_id=zz"],
            "error: memory_id: 'zz'",
        ),
        (["recall", "what?", "--tenant", "acme", "--deep-seconds", "3"], "error: --deep-seconds: "),
        (["recall", "what?", "--tenant", "acme", "--packed", "--json"], "error: --packed: "),
        (["recall", "what?", "--tenant", "acme", "--packed", "--explain"], "error: --packed: "),
        (["profile", "--tenant", "acme", "--packed", "--json"], "error: --packed: "),
        (
            ["memory", "ls", "--tenant", "acme", *EMPTY],
            "error: --after: 2027-01-01 must be earlier than --before",
        ),
        (["session", "show", "s", "--tenant", "acme", *EMPTY], "error: --after: 2027-01-01 must be earlier"),
        (["up", "--copies", "ingest"], "--copies"),
        (["up", "--copies", "query=2"], "--copies"),
        (["up", "--copies", "kafka=1"], "kafka"),
        (["nonsense"], "nonsense"),
    ],
)
def test_a_usage_error_names_what_is_wrong_and_exits_2(arguments: list[str], named: str) -> None:
    """Nothing is started or sent for any of them."""
    code, _, err = run(*arguments)
    assert code == 2
    assert named in err
    assert "Traceback" not in err


def test_a_file_that_is_not_there_exits_1(tmp_path: Path) -> None:
    """The file is named; no traceback."""
    code, _, err = run("publish", tmp_path / "gone.jsonl", *NOWHERE[:2])
    assert code == 1
    assert "gone.jsonl" in err
