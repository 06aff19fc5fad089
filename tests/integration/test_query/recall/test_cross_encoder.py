"""A cross-encoder in the answer of a real generation: its step, where it is never used, its fallback."""

import json
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from helix_cli.model_build.importing import Origin
from helix_cli.model_build.rerankers.importing import import_reranker
from helix_memory.explanation import CROSS_ENCODER, LATE_INTERACTION, cross_gain, recompute
from helix_memory.recall.v1 import recall_pb2
from helix_query.profile.cross_encoders import load_cross_encoders
from helix_query.profile.files import load_profiles
from helix_query.settings import QuerySettings
from helix_shared.encoders.store import default_model
from helix_shared.errors import InvalidInputError

pytestmark = pytest.mark.integration

QUERY = "Where did the bakery relocate?"
MOVED = "The bakery moved to Lindgasse in May."
FERRY = "The ferry to the island leaves at seven."
RYE = "Her bakery sells rye bread and poppy seed rolls."
ROWS: list[dict[str, Any]] = [
    {"text": MOVED, "speaker": "Olga"},
    {"text": RYE, "speaker": "Olga"},
    {"text": FERRY, "speaker": "Petr"},
    {"text": "Petr repairs clocks on Sundays.", "speaker": "Olga"},
]
LIKES_FERRIES = {"ferry": 9.0, "olga": -3.0}


def with_profiles(folder: Path, **tables: str) -> Path:
    """A folder of profiles by name: the default profile, and what `[rerank.cross_encoder]` gets."""
    folder.mkdir()
    default = (resources.files("helix_query.profile") / "helix.toml").read_text(encoding="utf-8")
    for name, table in tables.items():
        named = default.replace('name = "helix"', f'name = "{name}"', 1)
        text = f'{named}\n[rerank.cross_encoder]\nmodel = "words"\n{table}\n'
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def models(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, reranker_folder: Callable[..., Path]
) -> Path:
    """The default model, and a cross-encoder that likes ferries and dislikes Olga."""
    root = tmp_path_factory.mktemp("models")
    default = default_model(models_dir)
    (root / default.name).symlink_to(default)
    source = reranker_folder(root / ".source", LIKES_FERRIES, spread=0.001)
    import_reranker(source, root, Origin("words", "a test", keep_fp32=True), existing="refuse")
    return root


@pytest.fixture(scope="module")
def bakery(
    tmp_path_factory: pytest.TempPathFactory,
    corpus_type: Any,
    in_process_type: Any,
    encoder: Any,
    models: Path,
) -> Iterator[tuple[Any, dict[str, str]]]:
    """A service on a few memories with three profiles that compare, and the ids of the memories by text."""
    folder = tmp_path_factory.mktemp("bakery")
    corpus = corpus_type.create(folder / "data", encoder)
    ids = corpus.add([dict(row) for row in ROWS])
    corpus.publish()
    corpus.live.close()
    profiles = with_profiles(
        folder / "profiles", cross="weight = 3.0", hurried="seconds = 1e-9", narrow="candidates = 2"
    )
    settings = QuerySettings(
        data_dir=corpus.root, models_dir=models, profiles_dir=profiles, listen="127.0.0.1:0", grace_seconds=0
    )
    service = in_process_type(corpus.root, models, folder, settings)
    yield service, dict(zip([row["text"] for row in ROWS], ids, strict=True))
    service.close()


def texts(reply: Any) -> list[str]:
    """Texts of the answer, best first."""
    return [one.memory.text for one in reply.memories]


def test_the_step_follows_from_the_logit_and_orders_the_answer(bakery: Any) -> None:
    """The speaker is read with the text; the step stands between the words and the life of a memory."""
    service, ids = bakery
    reply = service.recall(QUERY, explain=True, never_skip=True, ranking_profile="cross")
    found = {one.memory_id: one for one in reply.explanation.candidates}
    logits = {text: round(found[ids[text]].cross_encoding.logit) for text in (MOVED, RYE, FERRY)}
    assert logits == {MOVED: -3, RYE: -3, FERRY: 9}
    assert (texts(reply)[0], list(reply.degraded)) == (FERRY, [])
    for one in found.values():
        assert recompute(one) == one.score
        assert [step.name for step in one.steps][:2] == [LATE_INTERACTION, CROSS_ENCODER]
        cross = one.cross_encoding
        assert (cross.model, cross.weight) == ("words", 3.0)
        assert cross.normalised == (cross.logit - cross.mean) / cross.deviation
    best = found[ids[FERRY]]
    assert best.steps[1].value == cross_gain(best.cross_encoding, 1.0) > 0.0


def test_only_the_first_are_compared(bakery: Any) -> None:
    """Those of the order without it; the others keep their scores."""
    service, _ = bakery
    plain = service.recall(QUERY, explain=True, never_skip=True)
    narrow = service.recall(QUERY, explain=True, never_skip=True, ranking_profile="narrow")
    first = [one.memory_id for one in plain.explanation.candidates[:2]]
    assert not any(one.HasField("cross_encoding") for one in plain.explanation.candidates)
    compared = [one for one in narrow.explanation.candidates if one.HasField("cross_encoding")]
    assert {one.memory_id for one in compared} == set(first)
    for one in narrow.explanation.candidates:
        assert recompute(one) == one.score


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        (QUERY, {"mode": recall_pb2.MODE_DENSE}),
        ("Who is the mother of the director of film Polish Summer?", {}),
        (QUERY, {"ranking_profile": "helix"}),
    ],
)
def test_some_queries_are_never_compared(bakery: Any, query: str, fields: dict[str, Any]) -> None:
    """Mode dense, questions over several hops, and profiles that name no model."""
    service, _ = bakery
    asked = {"ranking_profile": "cross"} | fields
    reply = service.recall(query, explain=True, never_skip=True, **asked)
    assert reply.explanation.candidates
    assert ("multi_hop" in reply.route.intents) == query.startswith("Who")
    assert not any(one.HasField("cross_encoding") for one in reply.explanation.candidates)
    assert not reply.degraded


def test_without_time_the_order_is_that_without_it(bakery: Any) -> None:
    """The reply says so."""
    service, _ = bakery
    plain = service.recall(QUERY, never_skip=True)
    late = service.recall(QUERY, explain=True, never_skip=True, ranking_profile="hurried")
    assert list(late.degraded) == ["cross-encoder"]
    assert texts(late) == texts(plain)
    assert not any(one.HasField("cross_encoding") for one in late.explanation.candidates)


def test_why_not_says_what_it_did_and_what_would_undo_it(bakery: Any) -> None:
    """A memory that lost by its logit is told so; the change was tried."""
    service, ids = bakery
    request = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id="acme"),
        query=QUERY,
        top_k=1,
        never_skip=True,
        ranking_profile="cross",
    )
    asked = recall_pb2.WhyNotRequest(recall=request, memory_id=ids[MOVED])
    reply = service.stub.WhyNot(asked, timeout=60)
    lost = next(step.value for step in reply.candidate.steps if step.name == CROSS_ENCODER)
    assert f"The cross-encoder took {-lost:.4f} from its score." in reply.verdict
    request.ranking_profile = "hurried"
    asked = recall_pb2.WhyNotRequest(recall=request, memory_id=ids[RYE])
    assert "The cross-encoder had no time to compare." in service.stub.WhyNot(asked, timeout=60).verdict


def test_the_status_names_the_model_and_its_profiles(bakery: Any) -> None:
    """Also which profiles use it; a service without one names none."""
    service, _ = bakery
    [one] = service.stub.GetStatus(recall_pb2.GetStatusRequest()).cross_encoders
    assert (one.model, list(one.ranking_profiles)) == ("words", ["cross", "hurried", "narrow"])
    assert len(one.checksum) == 64


def test_the_start_fails_without_the_named_model(tmp_path: Path) -> None:
    """The error names profile, key, folder and what to do."""
    profiles = load_profiles(with_profiles(tmp_path / "own", cross=""))
    words = (
        rf"cross: rerank\.cross_encoder\.model: no reranker 'words' under {tmp_path} .*`helix models import`"
    )
    with pytest.raises(InvalidInputError, match=words):
        load_cross_encoders(tmp_path, profiles, recalls=2)


def test_the_default_profile_may_name_one(start: Any, corpus: Any, models: Path, tmp_path: Path) -> None:
    """The service becomes ready with it, logs it once, and answers with it."""
    corpus.add([dict(row) for row in ROWS])
    corpus.publish()
    service = start(
        corpus.root,
        HELIX_QUERY_PROFILES_DIR=str(with_profiles(tmp_path / "own", helix="weight = 3.0")),
        HELIX_QUERY_MODELS_DIR=str(models),
    )
    service.wait_for(lambda one: one.health() == "SERVING")
    assert texts(service.recall(QUERY, never_skip=True))[0] == FERRY
    lines = [json.loads(line) for line in service.log.read_text(encoding="utf-8").splitlines()]
    [on] = [line for line in lines if line["event"] == "cross_encoder_on"]
    assert (on["model"].partition("@")[0], on["profiles"]) == ("words", ["helix"])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("candidates = 31", r"rerank\.cross_encoder\.candidates: .*30"),
        ("weight_by_intent = { multi_hop = 0.5 }", r"weight_by_intent: .*multi_hop must be 0"),
        ("seconds = 60", r"rerank\.cross_encoder\.seconds: .*10"),
    ],
)
def test_a_profile_cannot_ask_for_more(tmp_path: Path, table: str, words: str) -> None:
    """The error names the key and the limit."""
    with pytest.raises(InvalidInputError, match=words):
        load_profiles(with_profiles(tmp_path / "own", cross=table))
