"""`helix up` with a language model for deep recalls, and `helix recall --deep` on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record
from helix_cli.stack.stack import Stack
from tests.integration.test_extract.endpoint_server import EndpointServer

from .running import answering

pytestmark = pytest.mark.integration


def test_a_stack_with_an_endpoint_answers_deep_recalls(tmp_path: Path, models_dir: Path) -> None:
    """From a published event to an answer that the model ordered; the key stays with the service."""
    texts = {name: ["the kiln of Odile"] for name in ("terms", "questions", "notes", "passages")}
    home = tmp_path / "home"
    with EndpointServer() as server:
        server.answer_request = answering(texts, lambda notes: [len(notes)])
        environment = {
            "HELIX_DEEP_BASE_URL": server.url,
            "HELIX_DEEP_MODEL": "small",
            "HELIX_DEEP_TENANTS": "acme",
            "HELIX_DEEP_API_KEY": "sesame-4711",
        }
        unused = {"doc2query": 0, "kg": 0, "forwarder": 0}
        with Stack(
            home, nats_port=0, query_port=0, copies=unused, models=models_dir, environment=environment
        ) as stack:
            stack.wait_ready()
            assert [child.name for child in stack.processes][-1] == "deep-1"
            record = read_record(HomeFolder.at(home))
            assert record is not None
            assert record.deep_address == stack.deep_address != ""
            runner = CliRunner(env={"HELIX_HOME": str(home), "HELIX_TENANT": "acme"})
            for text in ("Odile's kiln is in the cellar.", "The kiln is fired on Fridays by Odile."):
                arguments = ["publish", "--session", "s1", "--text", text, "--wait"]
                published = runner.invoke(app, arguments)
                assert published.exit_code == 0, published.output
            asked = runner.invoke(app, ["recall", "when does Odile fire?", "--deep", "--json"])
            assert asked.exit_code == 0, asked.output
            result = json.loads(asked.stdout)
            assert result["is_deep"] is True, result
            assert len(result["recall"]["memories"]) == 2
            assert result["scores"][0]["model_rank"] == 1
            assert set(server.keys) == {"Bearer sesame-4711"}
        assert not [log for log in (home / "logs").iterdir() if "sesame-4711" in log.read_text()]
