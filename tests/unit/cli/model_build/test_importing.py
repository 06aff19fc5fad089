from __future__ import annotations

import json
import shutil
import socket
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import pytest

from helix_cli.model_build.description import Description, describe, write_description
from helix_cli.model_build.graph_file import read_graph
from helix_cli.model_build.hub import pull
from helix_cli.model_build.importing import Origin, import_folder
from helix_cli.model_build.published import PUBLISHED, HubFile, HubModel
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import file_sha256, load_card
from helix_shared.errors import (
    CorruptArtifactError,
    InvalidInputError,
    NotFoundError,
    PermanentError,
    TemporaryError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HIDDEN = 64
CLS = Description(pooling="cls", max_tokens=48, query_prefix="find: ", passage_prefix="text: ")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Callable[..., Path]) -> Path:
    """The folder that each test imports a copy of."""
    return encoder_folder(tmp_path_factory.mktemp("written") / "given", CLS)


@pytest.fixture
def given(tmp_path: Path, written: Path) -> Path:
    """A folder to import."""
    return Path(shutil.copytree(written, tmp_path / "given"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the models, which does not exist yet."""
    return tmp_path / "models"


def _import(given: Path, root: Path, origin: Origin) -> Path:
    return import_folder(given, root, origin, existing="refuse")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Callable[..., Path]) -> Path:
    """The model `tiny` that was imported from such a folder; no test changes it."""
    folder = tmp_path_factory.mktemp("tiny")
    return _import(encoder_folder(folder / "given", CLS), folder / "models", Origin("tiny", "a test"))


def test_an_imported_model_is_int8_and_used_as_its_files_say(tiny: Path) -> None:
    """Pooling, length and prompts come from the folder; a float32 graph is quantised and compared."""
    card = load_card(tiny)
    assert (card.precision, card.pooling, card.max_tokens, card.dimensions) == ("int8", "cls", 48, HIDDEN)
    assert (card.query_prefix, card.passage_prefix) == ("find: ", "text: ")
    assert "minimum 0.9" in card.source
    assert [card.name] == [path.name for path in tiny.parent.iterdir() if path.is_dir()]


def test_prefixes_of_options_win_over_those_of_the_files(given: Path, root: Path, tiny: Path) -> None:
    """A folder may state a wrong prefix; a model with another prefix has another checksum."""
    plain = load_card(_import(given, root, Origin("plain", "a test", query_prefix="", passage_prefix="")))
    stated = load_card(tiny)
    assert (plain.query_prefix, plain.passage_prefix) == ("", "")
    assert stated.files["model.onnx"] == plain.files["model.onnx"]
    assert stated.checksum != plain.checksum


def test_cls_pooling_takes_the_first_token_and_mean_does_not(given: Path, root: Path) -> None:
    """The same weights with another pooling are another encoder."""
    cls = _import(given, root, Origin("cls", "a test", keep_fp32=True))
    write_description(given, replace(CLS, pooling="mean"))
    mean = _import(given, root, Origin("mean", "a test", keep_fp32=True))
    with Encoder.load(cls) as first, Encoder.load(mean) as second:
        assert first.card.precision == "fp32"
        assert first.embed("ferry") @ second.embed("ferry") < 0.99


def test_an_int8_graph_is_taken_as_it_is(tiny: Path, root: Path, tmp_path: Path) -> None:
    """A model folder is an ONNX folder, too; an int8 graph is not quantised again."""
    (tmp_path / "again").mkdir()
    for file in (path for path in tiny.rglob("*") if path.is_file()):
        name = "model_quantized.onnx" if file.name == "model.onnx" else file.relative_to(tiny).as_posix()
        (tmp_path / "again" / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(file, tmp_path / "again" / name)
    second = _import(tmp_path / "again", root, Origin("again", "a test"))
    assert load_card(tiny).checksum == load_card(second).checksum


def test_a_graph_that_int8_changes_too_much_is_refused(
    tmp_path: Path, root: Path, encoder_folder: Callable[..., Path]
) -> None:
    """One huge weight takes the whole range of the word embeddings; the error proposes --fp32."""
    spoilt = encoder_folder(tmp_path / "spoilt", CLS, outlier=500.0)
    with pytest.raises(PermanentError, match=r"int8 model of .* differs too much"):
        _import(spoilt, root, Origin("tiny", "a test"))
    assert [path.name for path in root.iterdir()] == [".lock"]
    assert load_card(_import(spoilt, root, Origin("tiny", "a test", keep_fp32=True))).precision == "fp32"


def test_a_graph_with_data_in_another_file_is_refused(given: Path, root: Path) -> None:
    """External data is not covered by the checksum, and the graph chooses its path."""
    model = onnx.load(given / "onnx/model.onnx")
    onnx.save(
        model, given / "onnx/model.onnx", save_as_external_data=True, location="data.bin", size_threshold=0
    )
    with pytest.raises(InvalidInputError, match="another file"):
        _import(given, root, Origin("tiny", "a test"))


def _outside() -> onnx.TensorProto:
    """A tensor whose numbers lie in another file."""
    tensor = onnx.TensorProto(name="outside", data_type=onnx.TensorProto.FLOAT, dims=[4])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret.bin")
    return tensor


@pytest.mark.parametrize("place", ["function", "branch in a function", "sparse constant"])
def test_data_in_other_files_is_refused_wherever_the_graph_may_have_it(tmp_path: Path, place: str) -> None:
    """The engine follows it in a function as in the graph itself."""
    node = onnx.helper.make_node("Constant", [], ["k"], value=_outside())
    if place == "sparse constant":
        sparse = onnx.SparseTensorProto(values=_outside(), dims=[4])
        node = onnx.helper.make_node("Constant", [], ["k"], sparse_value=sparse)
    body = onnx.helper.make_graph([node], "body", [], [])
    called = onnx.helper.make_node("If", ["c"], ["k"], then_branch=body, else_branch=body)
    opset = onnx.helper.make_opsetid("", 18)
    inner = [called if place.startswith("branch") else node]
    function = onnx.helper.make_function("own", "F", ["c"], ["k"], inner, [opset])
    is_called = place != "sparse constant"
    nodes = [onnx.helper.make_node("F", ["c"], ["k"], domain="own") if is_called else node]
    graph = onnx.helper.make_graph(nodes, "graph", [], [])
    model = onnx.helper.make_model(graph, functions=[function] if is_called else [], opset_imports=[opset])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InvalidInputError, match="another file"):
        read_graph(path)


def test_a_name_is_used_once_unless_replaced(given: Path, root: Path, tiny: Path) -> None:
    """--replace replaces a model, also a damaged one."""
    folder = root / "tiny"
    shutil.copytree(tiny, folder)
    with pytest.raises(InvalidInputError, match="--replace"):
        _import(given, root, Origin("tiny", "a test"))
    (folder / "model.onnx").write_bytes(b"damaged")
    assert folder == import_folder(given, root, Origin("tiny", "a test"), existing="replace")
    assert load_card(folder).name == "tiny"


@pytest.mark.parametrize(
    ("file", "content", "field"),
    [
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}', "1_Pooling/config.json"),
        ("modules.json", '[{"type": "sentence_transformers.models.Dense"}]', "modules.json"),
        ("config_sentence_transformers.json", "{", "config_sentence_transformers.json"),
        ("sentence_bert_config.json", '{"max_seq_length": -1}', "sentence_bert_config.json"),
        ("sentence_bert_config.json", '{"max_seq_length": 2}', "sentence_bert_config.json"),
        ("onnx/model.onnx", "not a graph", "model.onnx"),
        ("1_Pooling/config.json", None, "1_Pooling/config.json"),
        ("tokenizer.json", None, "tokenizer.json"),
        ("onnx/model.onnx", None, "folder"),
    ],
)
def test_the_error_names_the_file_that_helix_cannot_use(
    given: Path, root: Path, file: str, content: str | None, field: str
) -> None:
    """The error names the file, and no folder remains."""
    (given / file).unlink()
    if content is not None:
        (given / file).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        _import(given, root, Origin("tiny", "a test"))
    assert caught.value.field == field
    assert [path.name for path in root.iterdir()] == [".lock"]


def test_the_length_is_never_more_than_there_are_positions(given: Path) -> None:
    """512 stated, 64 positions in config.json: the 65th token would have no embedding."""
    write_description(given, replace(CLS, max_tokens=512))
    assert describe(given).max_tokens == 64


def test_bge_small_is_used_as_its_card_says_though_its_files_name_no_prompt(given: Path) -> None:
    """A folder that was fetched by hand gets the same description as a pulled one."""
    write_description(given, replace(CLS, query_prefix="", passage_prefix=""))
    found = describe(given, published=PUBLISHED["bge-small-en-v1.5"].description)
    assert found.query_prefix == "Represent this sentence for searching relevant passages: "
    assert (found.passage_prefix, found.max_tokens) == ("", 48)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """Serve `tmp_path/hub` over HTTP with the paths of the hub."""
    handler = partial(_Quiet, directory=str(tmp_path / "hub"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _published(tmp_path: Path, given: Path) -> dict[str, HubModel]:
    folder = tmp_path / "hub/org/tiny/resolve/abc"
    shutil.copytree(given, folder)
    paths = ("onnx/model.onnx", "tokenizer.json", "config.json")
    files = tuple(HubFile(path, file_sha256(folder / path), (folder / path).stat().st_size) for path in paths)
    return {"tiny": HubModel("org/tiny", "abc", files, CLS)}


def test_a_pulled_model_is_checked_and_quantised_like_an_imported_one(
    tmp_path: Path, root: Path, hub: str, given: Path
) -> None:
    """The files have the pinned checksums, and the description is that of the pin."""
    published = _published(tmp_path, given)
    card = load_card(pull("tiny", root, hub=hub, published=published))
    assert (card.precision, card.pooling) == ("int8", "cls")
    assert (card.query_prefix, card.source.partition(";")[0]) == ("find: ", "org/tiny at abc")
    shutil.rmtree(tmp_path / "hub")
    assert root / "tiny" == pull("tiny", root, hub=hub, published=published)


def test_other_bytes_than_the_pinned_ones_are_refused(
    tmp_path: Path, root: Path, hub: str, given: Path
) -> None:
    """Another file is refused, and a longer one is not read to its end."""
    published = _published(tmp_path, given)
    served = tmp_path / "hub/org/tiny/resolve/abc/tokenizer.json"
    served.write_bytes(served.read_bytes() + b" ")
    with pytest.raises(CorruptArtifactError, match=r"tokenizer\.json"):
        pull("tiny", root, hub=hub, published=published)
    served.unlink()
    with pytest.raises(PermanentError, match="404"):
        pull("tiny", root, hub=hub, published=published)
    assert not root.exists()


def test_an_unreachable_hub_is_a_temporary_error_with_advice(root: Path) -> None:
    """The error is temporary and says how to import the model without a network."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(TemporaryError, match=r"5c38ec7c.*onnx/model\.onnx.*helix models import DIR"):
        pull("bge-small-en-v1.5", root, hub=f"http://127.0.0.1:{port}", timeout_seconds=2)
    with pytest.raises(InvalidInputError, match="hub"):
        pull("bge-small-en-v1.5", root, hub="file:///etc")
    with pytest.raises(NotFoundError, match="helix models build"):
        pull("all-MiniLM-L6-v2", root)


def test_prefixes_that_were_trained_are_declared(given: Path, root: Path, tiny: Path) -> None:
    """By config.json or by who imports; the whole vector is no prefix, and no other one may be scanned."""
    config = given / "config.json"
    stated = json.loads(config.read_text(encoding="utf-8")) | {"matryoshka_dimensions": [32, 16, HIDDEN]}
    config.write_text(json.dumps(stated), encoding="utf-8")
    card = load_card(import_folder(given, root, Origin("stated", ""), existing="refuse"))
    assert card.matryoshka_dimensions == (16, 32)
    card.require_matryoshka(0)
    card.require_matryoshka(16)
    with pytest.raises(
        InvalidInputError, match=r"scan_dimensions: must be 0 or one of 16, 32 .* stated, is 24"
    ):
        card.require_matryoshka(24)
    by_hand = Origin("by-hand", "", matryoshka_dimensions=(8,))
    assert load_card(import_folder(given, root, by_hand, existing="refuse")).matryoshka_dimensions == (8,)
    with pytest.raises(InvalidInputError, match="scan_dimensions: must be 0 with the model tiny, is 16"):
        load_card(tiny).require_matryoshka(16)
    config.write_text(json.dumps(stated | {"matryoshka_dimensions": [0]}), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"config\.json: matryoshka_dimensions must be whole numbers"):
        import_folder(given, root, Origin("other", ""), existing="refuse")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", "[]"),
        ("modules.json", "{}"),
        ("modules.json", "[1]"),
        ("1_Pooling/config.json", "7"),
        ("config_sentence_transformers.json", '{"prompts": ["find: "]}'),
        ("sentence_bert_config.json", '{"max_seq_length": "many"}'),
    ],
)
def test_a_description_of_another_form_is_refused_by_its_file(given: Path, file: str, content: str) -> None:
    """No traceback: `helix models import` takes any folder."""
    (given / file).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInputError):
        describe(given)
