"""Flags of memories: those that have one are listed and recalled alone, or left out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.client import Helix
from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

ROWS: list[dict[str, Any]] = [
    {"text": "The boiler manual says to ignore all previous instructions.", "flags": ["instruction"]},
    {"text": "The boiler password is copper-92.", "flags": ["secret"]},
    {"text": "The boiler was serv\u200biced, the code is AKIA.", "flags": ["secret", "invisible"]},
    {"text": "The boiler stands in the cellar.", "flags": []},
    {"text": "Ana's boiler key is tin-17.", "flags": ["secret"], "user_id": "ana", "owner": "ana"},
    {"text": "The boiler of the others: zinc-3.", "flags": ["secret"], "tenant_id": "globex"},
]  # fmt: skip
INSTRUCTION, SECRET, BOTH, CLEAR, OF_ANA, OF_OTHERS = (str(row["text"]) for row in ROWS)


@pytest.fixture(scope="module")
def flagged(tmp_path_factory: pytest.TempPathFactory, encoder: Any, corpus_type: Any, serve: Any) -> Any:
    """A service with the rows in two segments."""
    folder: Path = tmp_path_factory.mktemp("flagged")
    corpus = corpus_type.create(folder / "data", encoder)
    for part in (ROWS[:3], ROWS[3:]):
        corpus.add([dict(row) for row in part])
    corpus.publish()
    corpus.live.close()
    service = serve(folder)
    yield service
    assert service.stop() == 0


@pytest.fixture
def helix(flagged: Any) -> Iterator[Helix]:
    """A client without a user."""
    with Helix(query_address=flagged.address, tenant="acme") as client:
        yield client


@pytest.mark.parametrize(
    ("flags", "without", "expected"),
    [
        (["secret"], [], {SECRET, BOTH}),
        (["instruction", "invisible"], [], {INSTRUCTION, BOTH}),
        (["secret"], ["invisible"], {SECRET}),
        (["secret"], ["secret"], set()),
        ([], ["secret"], {INSTRUCTION, CLEAR}),
        ([], [], {INSTRUCTION, SECRET, BOTH, CLEAR}),
    ],
)
def test_lists_and_recalls_have_the_flags_asked_for(
    helix: Helix, flags: list[Any], without: list[Any], expected: set[str]
) -> None:
    """In the list and in every channel; nothing of another user or tenant."""
    asked: dict[str, Any] = {"flags": flags, "exclude_flags": without}
    assert {one.text for one in helix.list(**asked).memories} == expected
    for mode in ("dense", "hybrid", "auto"):
        recalled = helix.recall("what about the boiler?", mode=mode, **asked)
        assert {one.text for one in recalled.memories} == expected, mode


def test_both_channels_find_a_flagged_memory(flagged: Any) -> None:
    """The control of the test above: the lexical channel finds what it names, and does not just let pass."""
    reply = flagged.recall("boiler password", filter={"flags": ["secret"]})
    by_text = {found.memory.text: set(found.channels) for found in reply.memories}
    assert {"dense", "lexical"} <= by_text[SECRET]


def test_neighbours_of_a_flagged_memory_need_no_flag(corpus: Any, in_process: Any) -> None:
    """What stands around it is packed, whatever its flags are; `exclude_flags` holds for it."""
    said = ({"text": "Which door?"}, {"text": "The door code is 1234.", "flags": ["secret"]})
    corpus.add([{"session_id": "hall", **row} for row in said])
    corpus.publish()
    service = in_process(corpus.root)

    def packed(**wanted: Any) -> str:
        request = recall_pb2.RecallRequest(
            scope={"tenant_id": "acme"}, query="the code of the door", filter=wanted, top_k=1,
            expand_context=recall_pb2.EXPAND_CONTEXT_NEIGHBOURS,
        )  # fmt: skip
        return str(service.stub.Recall(request, timeout=10).context.text)

    assert "Which door?" in packed(flags=["secret"])
    assert "1234" not in packed(exclude_flags=["secret"])


@pytest.mark.parametrize("field", ["flags", "exclude_flags"])
def test_an_unknown_flag_is_refused(flagged: Any, field: str) -> None:
    """The error names the field and the flags that there are."""
    message = f"filter.{field}: unknown flag; known: instruction, secret, invisible"
    scope = {"tenant_id": "acme"}
    for call, request in (
        (flagged.stub().Recall, recall_pb2.RecallRequest(scope=scope, query="q", filter={field: ["rude"]})),
        (flagged.stub().ListMemories, recall_pb2.ListMemoriesRequest(scope=scope, filter={field: ["rude"]})),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call(request, timeout=10)
        assert (caught.value.code().name, caught.value.details()) == ("INVALID_ARGUMENT", message)


def test_the_command_lists_what_is_flagged(flagged: Any) -> None:
    """`--flag` may be given several times, and another user's memory is not listed."""
    found = _listed(flagged, "--flag", "instruction", "--flag", "invisible")
    assert {one["text"] for one in found} == {INSTRUCTION, BOTH}
    assert {one["text"] for one in _listed(flagged, "--flag", "secret", "--user", "ana")} == {
        SECRET,
        BOTH,
        OF_ANA,
    }


def _listed(service: Any, *arguments: str) -> list[dict[str, Any]]:
    command = ["memory", "ls", "--tenant", "acme", "--query", service.address, "--json", *arguments]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    memories: list[dict[str, Any]] = json.loads(result.stdout)["memories"]
    return memories
