"""Codes of a late-interaction model in the answers of a real generation, and homes that have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from helix_cli.model_build.importing import Origin
from helix_cli.model_build.late_interaction.importing import import_late_interaction
from helix_cli.model_build.pairs.pairing import pair
from helix_memory.explanation import recompute
from helix_memory.recall.v1 import recall_pb2
from helix_query.settings import QuerySettings
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.errors import CorruptArtifactError

pytestmark = pytest.mark.integration

QUERY = "When does the zebra leave?"
FERRY = "The ferry to the island leaves at seven."
ROWS: list[dict[str, Any]] = [
    {"text": FERRY, "speaker": "Petr"},
    {"text": "The train to Lindau leaves at nine.", "speaker": "Olga"},
    {"text": "The bus to the lake leaves at noon.", "speaker": "Olga"},
    {"text": "Petr painted stripes on the kitchen door.", "speaker": "Olga"},
]


@pytest.fixture(scope="module")
def models(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, late_interaction_folder: Callable[..., Path]
) -> Path:
    """The default model, one beside it to which a zebra and a ferry are the same, and a pair."""
    root = tmp_path_factory.mktemp("models")
    default = default_model(models_dir)
    (root / default.name).symlink_to(default)
    source = late_interaction_folder(root / ".source", {"zebra": "ferry"})
    import_late_interaction(source, root, Origin("late", "a test"), beside=default, existing="refuse")
    pair(default, default, root, "pair", existing="refuse")
    return root


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, corpus_type: Any, in_process_type: Any, models: Path
) -> Iterator[dict[str, Any]]:
    """By the model that made the memories: a service on the same memories."""
    found = {}
    for name in ("late", "pair", default_model(models).name):
        folder = tmp_path_factory.mktemp("home")
        with Encoder.load(models / name) as encoder:
            corpus = corpus_type.create(folder / "data", encoder)
            corpus.add([dict(row) for row in ROWS])
            corpus.publish()
            corpus.live.close()
        settings = QuerySettings(
            data_dir=corpus.root, models_dir=models, listen="127.0.0.1:0", grace_seconds=0
        )
        found[name] = in_process_type(corpus.root, models, folder, settings)
    yield found
    for service in found.values():
        service.close()


def test_what_the_model_takes_for_alike_goes_first(served: dict[str, Any], models: Path) -> None:
    """The profile `colbert` compares its codes; those of the sentence encoder do not find it."""
    reply = served["late"].recall(QUERY, explain=True, never_skip=True, ranking_profile="colbert")
    assert reply.memories[0].memory.text == FERRY
    best = max(reply.explanation.candidates, key=lambda one: one.score)
    by_word = {one.word: one for one in best.late_interaction.words}
    assert by_word["zebra"].nearest == "ferry"
    assert by_word["zebra"].similarity > 0.7
    assert by_word["leave"].similarity < 0.5
    for one in reply.explanation.candidates:
        assert recompute(one) == one.score
    plain = served[default_model(models).name].recall(QUERY, explain=True, never_skip=True)
    zebra = {
        one.nearest: one.similarity
        for candidate in plain.explanation.candidates
        for one in candidate.late_interaction.words
        if one.word == "zebra"
    }
    assert zebra.get("ferry", 0.0) < 0.7


def test_the_codes_of_a_memory_are_those_of_its_model(served: dict[str, Any], models: Path) -> None:
    """The default profile also takes what the home has, and both give the same other steps."""
    late = served["late"].recall(QUERY, explain=True, never_skip=True)
    plain = served[default_model(models).name].recall(QUERY, explain=True, never_skip=True)
    similarities = [
        [
            [word.similarity for word in one.late_interaction.words]
            for one in sorted(reply.explanation.candidates, key=lambda one: one.memory_id)
        ]
        for reply in (late, plain)
    ]
    assert similarities[0] != similarities[1]
    before = [
        {one.memory_id: [hit.score for hit in one.hits] for one in reply.explanation.candidates}
        for reply in (late, plain)
    ]
    assert before[0] == before[1]


def test_a_home_of_a_sentence_encoder_refuses_the_profile(served: dict[str, Any], models: Path) -> None:
    """The error names profile and model, in recalls and why-not; other profiles answer."""
    service = served[default_model(models).name]
    words = (
        "'colbert' compares token codes of a late-interaction model, those of this home are of the sentence "
        f"encoder '{default_model(models).name}': run `helix models import` and `helix models use`"
    )
    request = recall_pb2.RecallRequest(
        scope={"tenant_id": "acme"}, query=QUERY, never_skip=True, ranking_profile="colbert"
    )
    found = service.recall(QUERY, never_skip=True).memories[0].memory.memory_id
    lost = recall_pb2.WhyNotRequest(recall=request, memory_id=found)
    for call in (
        lambda: service.stub.Recall(request, timeout=30),
        lambda: service.stub.WhyNot(lost, timeout=30),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert words in caught.value.details()


def test_the_service_opens_the_small_encoder_of_a_pair_alone(served: dict[str, Any], models: Path) -> None:
    """It answers as one with both sides, and cannot embed a passage."""
    both, plain = served["pair"], served[default_model(models).name]
    found, expected = (
        [one.memory.text for one in service.recall("Where does the ferry go?", never_skip=True).memories]
        for service in (both, plain)
    )
    assert found[0] == expected[0] == FERRY
    with (
        both.current.lease() as snapshot,
        pytest.raises(CorruptArtifactError, match="for queries alone: pair"),
    ):
        snapshot.encoder.embed("a passage")
