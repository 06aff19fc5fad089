"""Backup, restore, export and import by the commands alone, once each; the other files here look closer."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory.recall.v1.recall_pb2 import RecallRequest, Scope
from helix_memory.transport.recall_client import RecallClient

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

UNUSED = {"doc2query": 0, "kg": 0, "forwarder": 0}
TEXTS = ("The spare key hangs behind the barometer.", "The boiler was serviced in May.", "Ana likes quinces.")


def helix(home: Path, *arguments: str, code: int = 0) -> str:
    """What a command says; it must end with `code`."""
    result = CliRunner(env={"HELIX_HOME": str(home)}).invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def recalled(stack: Stack, tenant: str) -> list[tuple[str, str]]:
    """Event and text of what a question finds, in order."""
    question = RecallRequest(scope=Scope(tenant_id=tenant), query="where does the spare key hang?")
    with RecallClient(stack.query_address) as client:
        found = client.recall(question).memories
    return [(one.memory.source.event_id, one.memory.text) for one in found]


def test_what_is_restored_and_imported_is_recalled_as_before(tmp_path: Path, models_dir: Path) -> None:
    """By ids, texts and order; the new home had neither before."""
    home, other, backups = (tmp_path / name for name in ("home", "other", "backups"))
    export, keys, said = tmp_path / "acme.jsonl", tmp_path / "keys", tmp_path / "said.jsonl"
    said.write_text(
        "".join(
            json.dumps({"kind": "memory", "event_id": f"e{n}", "tenant_id": "acme", "text": text}) + "\n"
            for n, text in enumerate(TEXTS)
        )
    )
    with Stack(home, nats_port=0, query_port=0, models=models_dir, copies=UNUSED) as stack:
        stack.wait_ready()
        helix(home, "publish", str(said), "--wait")
        before = recalled(stack, "acme")
        helix(home, "backup", str(backups))
        helix(home, "keys", "copy", str(keys))
        helix(home, "export", "--tenant", "acme", "--out", str(export))
    assert before[0] == ("e0", TEXTS[0])
    helix(other, "restore", str(backups), code=2)  # the control: it needs the keys
    helix(other, "restore", str(backups), "--keys", str(keys))
    with Stack(other, nats_port=0, query_port=0, models=models_dir, copies=UNUSED) as stack:
        stack.wait_ready()
        assert recalled(stack, "acme") == before
        assert recalled(stack, "acme-two") == []
        helix(other, "import", str(export), "--tenant", "acme-two", "--wait")
        assert recalled(stack, "acme-two") == before
