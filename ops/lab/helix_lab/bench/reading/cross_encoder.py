"""What a cross-encoder costs: a comparison by candidates and tokens, and a recall with and without it.

The model has the size of MiniLM (6 layers of 384): its encoder and a random head. So its order is of no use,
only its time counts. Recalls with and without it are asked in turns, in this process.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from helix_cli.model_build.bert_graph import BertShape, bert_graph
from helix_cli.model_build.description import CONFIG
from helix_cli.model_build.importing import Origin
from helix_cli.model_build.minilm import weights_folder
from helix_cli.model_build.rerankers.importing import import_reranker
from helix_lab.bench.reading.recall_load import percentiles
from helix_query.generations.current import CurrentGeneration
from helix_query.profile.cross_encoders import load_cross_encoders
from helix_query.profile.files import load_profiles
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import DEFAULT_PROFILE, RankingProfile
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.query import Query
from helix_query.recall.recall import recall
from helix_query.recall.result import RecallResult
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.encoders.model import GRAPH_FILE, TOKENIZER_FILE
from helix_shared.encoders.store import default_model
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from helix_lab.bench.generate.load import BuildInfo
    from helix_query.generations.snapshot import Snapshot
    from helix_shared.encoders.cross_encoder import CrossEncoder

MODEL: Final = "minilm-sized"
CANDIDATES: Final = (10, 20, 30)
PAIR_TOKENS: Final = (32, 64, 128, 256)
ROUNDS: Final = 20
"""Comparisons of each size."""
RECALLS: Final = 100
"""Queries that are recalled at most, each once without and once with each number of candidates."""
WARM_UP: Final = 5
NONE: Final = "none"
QUESTION: Final = "who said the word"
PAIR_OVERHEAD: Final = 7
"""Tokens of a pair besides the words of its passage: those of `QUESTION`, and three around the texts."""
CHANNEL_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 10.0


def cross_encoder_section(
    built: Path, models: Path, info: BuildInfo, queries: Sequence[str]
) -> dict[str, Any]:
    """`cross_encoder`: milliseconds of a comparison by candidates and tokens, of a recall by candidates.

    `over_none` has the ratios of these recalls to those without a cross-encoder, p50 and p95.
    """
    with tempfile.TemporaryDirectory(prefix="helix-bench-") as scratch:
        root = Path(scratch) / "models"
        _models(Path(scratch), root, models)
        base = load_profiles()[DEFAULT_PROFILE]
        profiles = {NONE: base} | {str(count): _profile(base, count) for count in CANDIDATES}
        loaded = load_cross_encoders(root, profiles, recalls=1)
        compared = _comparisons(loaded[MODEL])
        with _opened(built, root, base, loaded) as (snapshot, lanes):
            recalls = _recalls(snapshot, lanes, profiles, info, queries)
    none = recalls[NONE]
    over = {
        count: {mark: round(times[mark] / none[mark], 2) for mark in ("p50", "p95")}
        for count, times in recalls.items()
        if count != NONE
    }
    return {"cross_encoder": {"compare_ms": compared, "recall_ms": recalls, "over_none": over}}


def write_minilm_sized(folder: Path) -> Path:
    """Write the folder of a cross-encoder: MiniLM's encoder, and a random head over its first state."""
    weights, _ = weights_folder()
    shape = BertShape.read(weights / CONFIG)
    model = bert_graph(weights / "model.safetensors", shape)
    head = np.random.default_rng(0).normal(size=(shape.hidden, 1)).astype(np.float32)
    model.graph.initializer.extend(
        [
            numpy_helper.from_array(head, "head"),
            numpy_helper.from_array(np.array(0, np.int64), "head.place"),
        ]
    )
    model.graph.node.extend(
        [
            helper.make_node("Gather", ["last_hidden_state", "head.place"], ["head.state"], axis=1),
            helper.make_node("MatMul", ["head.state", "head"], ["logits"]),
        ]
    )
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1]))
    folder.mkdir(parents=True)
    onnx.save(model, folder / GRAPH_FILE)
    for file in (TOKENIZER_FILE, CONFIG):
        shutil.copyfile(weights / file, folder / file)
    return folder


def _models(scratch: Path, root: Path, models: Path) -> None:
    source = write_minilm_sized(scratch / "source")
    import_reranker(source, root, Origin(MODEL, "helix-lab bench"), existing="refuse")
    default = default_model(models)
    (root / default.name).symlink_to(default.resolve())


def _profile(base: RankingProfile, candidates: int) -> RankingProfile:
    constants = {"model": MODEL, "candidates": candidates, "seconds": LONGEST_SECONDS}
    return with_constants(base, {f"rerank.cross_encoder.{key}": value for key, value in constants.items()})


def _comparisons(model: CrossEncoder) -> dict[str, dict[str, dict[str, float]]]:
    """Percentiles by candidates and tokens of a pair; sizes in turns, so that a busy moment hits all."""
    sizes = [(count, tokens) for count in CANDIDATES for tokens in PAIR_TOKENS]
    taken: dict[tuple[int, int], list[float]] = {size: [] for size in sizes}
    for _ in range(ROUNDS):
        for count, tokens in sizes:
            passages = ["word " * (tokens - PAIR_OVERHEAD)] * count
            taken[count, tokens].append(_milliseconds(partial(model.logits, QUESTION, passages)))
    return {
        str(count): {str(tokens): percentiles(taken[count, tokens]) for tokens in PAIR_TOKENS}
        for count in CANDIDATES
    }


@contextlib.contextmanager
def _opened(
    data: Path, models: Path, profile: RankingProfile, loaded: Mapping[str, CrossEncoder]
) -> Iterator[tuple[Snapshot, Mapping[str, Executor]]]:
    with contextlib.ExitStack() as held:
        scratch = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="helix-lab-")))
        current = CurrentGeneration(data, models, scratch=scratch, profile=profile, cross_encoders=loaded)
        held.callback(current.close)
        current.refresh()
        snapshot = held.enter_context(current.lease())
        yield snapshot, {name: held.enter_context(ThreadPoolExecutor(1)) for name in LANES}


def _recalls(
    snapshot: Snapshot,
    lanes: Mapping[str, Executor],
    profiles: Mapping[str, RankingProfile],
    info: BuildInfo,
    queries: Sequence[str],
) -> dict[str, dict[str, float]]:
    """Percentiles of whole recalls by profile, which are asked in turns."""
    taken: dict[str, list[float]] = {name: [] for name in profiles}
    for number, text in enumerate(queries[: WARM_UP + RECALLS]):
        for name, profile in profiles.items():
            now = datetime.now(UTC)
            query = Query(text, Selection(info.tenant), now, now, never_skip=True)
            context = RecallContext.of(query, snapshot, profile)
            asked = partial(recall, context, lanes=lanes, channel_deadline_seconds=CHANNEL_SECONDS)
            milliseconds = _milliseconds(asked)
            if number >= WARM_UP:
                taken[name].append(milliseconds)
    return {name: percentiles(times) for name, times in taken.items()}


def _milliseconds(work: Callable[[], Any]) -> float:
    """Of `work`; TemporaryError if it answers nothing, or without a comparison."""
    started = time.perf_counter()
    result = work()
    elapsed = (time.perf_counter() - started) * 1_000
    if result is None or (isinstance(result, RecallResult) and result.degraded):
        raise TemporaryError("the cross-encoder was too slow to compare: the machine is too busy")
    return elapsed
