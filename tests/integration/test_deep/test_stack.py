"""`helix up` with a language model for deep recalls, and `helix recall --deep` on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record
from helix_cli.stack.stack import Stack
from helix_memory.sharding import hashed_shard
from tests.integration.test_extract.endpoint_server import EndpointServer

from .running import answering

pytestmark = pytest.mark.integration


TENANTS: Final = ("acme", "globex")
"""They lie in two shards."""


def asked(runner: CliRunner, *arguments: str) -> str:
    """What the command prints."""
    done = runner.invoke(app, [*arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_stack_with_an_endpoint_answers_deep_recalls(tmp_path: Path, models_dir: Path) -> None:
    """From events to answers that the model ordered, of each shard; the key stays with the service."""
    assert {hashed_shard(tenant, 2) for tenant in TENANTS} == {0, 1}
    texts = {name: ["the kiln of Odile"] for name in ("terms", "questions", "notes", "passages")}
    home = tmp_path / "home"
    with EndpointServer() as server:
        server.answer_request = answering(texts, lambda notes: [len(notes)])
        environment = {
            "HELIX_DEEP_BASE_URL": server.url,
            "HELIX_DEEP_MODEL": "small",
            "HELIX_DEEP_TENANTS": ",".join(TENANTS),
            "HELIX_DEEP_API_KEY": "sesame-4711",
        }
        unused = {"doc2query": 0, "kg": 0, "forwarder": 0}
        with Stack(
            home,
            nats_port=0,
            query_port=0,
            copies=unused,
            shards=2,
            models=models_dir,
            environment=environment,
        ) as stack:
            stack.wait_ready()
            assert [child.name for child in stack.processes][-1] == "deep-1"
            record = read_record(HomeFolder.at(home))
            assert record is not None
            assert record.deep_address == stack.deep_address != ""
            for tenant in TENANTS:
                runner = CliRunner(env={"HELIX_HOME": str(home), "HELIX_TENANT": tenant})
                for text in (
                    "Odile's kiln is in the cellar.",
                    f"Odile fires the kiln of {tenant} on Fridays.",
                ):
                    asked(runner, "publish", "--session", "s1", "--text", text, "--wait")
                result = json.loads(asked(runner, "recall", "when does Odile fire?", "--deep", "--json"))
                assert result["is_deep"] is True, result
                memories = result["recall"]["memories"]
                assert sum(tenant in one["memory"]["text"] for one in memories) == 1
                assert len(memories) == 2
                assert result["scores"][0]["model_rank"] == 1
            assert set(server.keys) == {"Bearer sesame-4711"}
        assert not [log for log in (home / "logs").iterdir() if "sesame-4711" in log.read_text()]
