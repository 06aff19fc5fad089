"""A home that an older release wrote: the error names one command, and that command makes it anew.

`tests/golden/releases/format-1.tar.gz` is the data folder of commit 1d529ff (2026-11-21), one of the first
with a query service. It has 14 events of every kind of that time: turns, a tool call, a document, a decision
that was forgotten, a turn that was corrected, another user's turn that was erased, feedback.
"""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from helix_cli.stack.stack import Stack
from helix_shared.encoders.store import default_model
from helix_shared.errors import CorruptArtifactError
from tests.integration.test_cli.running import run

pytestmark = [pytest.mark.integration, pytest.mark.long]

WRITTEN = Path(__file__).parents[2] / "golden" / "releases" / "format-1.tar.gz"


def test_what_an_older_release_wrote_is_rebuilt_with_the_command_that_the_error_names(
    tmp_path: Path, models_dir: Path
) -> None:
    """`helix up` refuses and names `helix rebuild`; afterwards every event is there, and new ones follow."""
    home, built = tmp_path / "home", default_model(models_dir)
    shutil.copytree(built, home / "models" / built.name)
    with tarfile.open(WRITTEN) as archive:
        archive.extractall(home, filter="data")
    with pytest.raises(CorruptArtifactError, match=r"format 1, this release reads \d+; `helix rebuild`"):
        Stack(home, nats_port=0, query_port=0).start()

    code, out, err = run(home, "rebuild", "--json")
    assert code == 0, out + err
    assert json.loads(out)["shards"][0]["memories"] == 7
    with Stack(home, nats_port=0, query_port=0) as stack:
        stack.wait_ready()
        assert json.loads(run(home, "dlq", "ls", "--json")[1]) == []
        said = {
            "where does the spare key hang?": "The spare key of the lab hangs in the hall.",
            "what has the ledger?": "We picked Postgres for the ledger, Priya has run it for years.",
            "when do invoices go out?": "Invoices go out on the last Friday. Ask Jana for the seal.",
            "what did make say?": "bash: make test\nexit status: 2\nAssertionError in test_ledger\n2 failed",
        }
        for question, text in said.items():
            found = json.loads(run(home, "recall", question, "--never-skip", "--json")[1])
            texts = [one["memory"]["text"] for one in found["memories"]]
            assert text in texts, question
            assert not {"We deploy on Tuesdays.", "I live in Berlin."} & set(texts)
        code, out, err = run(home, "publish", "--text", "The seal is with Mira now.", "--wait")
        assert code == 0, out + err
