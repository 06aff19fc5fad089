import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

ROOT = Path(__file__).parents[2]
CONTRACTS = ("helix_memory/recall/v1/recall.proto", "helix_memory/deep/v1/deep.proto")
GENERATED = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")
MANIFEST = "helix_shared/artifacts/vectors/manifest.proto"

# Numbers of the fields that hold messages, enums, services, fields, values and methods in a file descriptor
# and its parts: a source location is a path through them.
_MESSAGE, _ENUM, _SERVICE, _FIELD, _VALUE, _METHOD = 4, 5, 6, 2, 2, 2


def _protoc(*arguments: str, source: str, root: str = "proto") -> None:
    beside = Path(sys.executable).parent
    plugins = [
        f"--plugin=protoc-gen-{name}={beside / f'protoc-gen-{name}'}" for name in ("mypy", "mypy_grpc")
    ]
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"-I{ROOT / root}",
        *plugins,
        *arguments,
        source,
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module", params=CONTRACTS)
def descriptor(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> descriptor_pb2.FileDescriptorProto:
    """A contract as the compiler reads it, comments included."""
    target = tmp_path_factory.mktemp("descriptor") / "contract.bin"
    _protoc("--include_source_info", f"--descriptor_set_out={target}", source=request.param)
    described = descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes())
    return described.file[0]


@pytest.mark.parametrize("contract", CONTRACTS)
def test_committed_stubs_are_what_the_contract_generates(contract: str, tmp_path: Path) -> None:
    """The committed stubs are the output of `make stubs`."""
    kinds = ("python", "grpc_python", "mypy", "mypy_grpc")
    _protoc(*(f"--{kind}_out={tmp_path}" for kind in kinds), source=contract)
    for ending in GENERATED:
        name = contract.removesuffix(".proto") + ending
        made, committed = tmp_path / name, ROOT / "proto" / name
        assert committed.read_text() == made.read_text(), f"{name} is stale: run `make stubs`"


def test_committed_stubs_of_the_lance_manifest_are_generated(tmp_path: Path) -> None:
    """The manifest's messages are declared once, in its `.proto`."""
    _protoc(f"--python_out={tmp_path}", f"--mypy_out={tmp_path}", root="shared", source=MANIFEST)
    made = sorted(path for path in (tmp_path / MANIFEST).parent.iterdir())
    assert [path.name for path in made] == ["manifest_pb2.py", "manifest_pb2.pyi"]
    for path in made:
        committed = ROOT / "shared" / path.relative_to(tmp_path)
        assert committed.read_text() == path.read_text(), f"{path.name} is stale: run `make stubs`"


def test_every_field_value_and_method_of_the_contract_has_a_comment(
    descriptor: descriptor_pb2.FileDescriptorProto,
) -> None:
    """Every field has a comment with its unit and range."""
    commented = {
        tuple(location.path)
        for location in descriptor.source_code_info.location
        if (location.leading_comments or location.trailing_comments).strip()
    }
    bare = [name for name, path in _declared(descriptor) if path not in commented]
    assert bare == []


def test_every_message_the_contract_declares_was_looked_at(
    descriptor: descriptor_pb2.FileDescriptorProto,
) -> None:
    """Checks the checker: the comment test would pass on an empty list."""
    names = [name for name, _ in _declared(descriptor)]
    some = {
        "recall": {"RecallRequest.query", "Mode.MODE_HYBRID", "RecallService.GetStatus"},
        "deep": {"DeepScore.kept", "StageState.STAGE_STATE_DONE", "DeepRecallService.DeepRecall"},
    }
    assert some[descriptor.package.split(".")[1]] <= set(names)
    assert len(names) == len(set(names)) > 30


def _declared(described: descriptor_pb2.FileDescriptorProto) -> list[tuple[str, tuple[int, ...]]]:
    """Name and source path of every field, enum value and method."""
    found = []
    for number, message in enumerate(described.message_type):
        assert not message.nested_type, "walk nested messages too before nesting one"
        found += [
            (f"{message.name}.{field.name}", (_MESSAGE, number, _FIELD, index))
            for index, field in enumerate(message.field)
        ]
    for number, enum in enumerate(described.enum_type):
        found += [
            (f"{enum.name}.{value.name}", (_ENUM, number, _VALUE, index))
            for index, value in enumerate(enum.value)
        ]
    for number, service in enumerate(described.service):
        found += [
            (f"{service.name}.{method.name}", (_SERVICE, number, _METHOD, index))
            for index, method in enumerate(service.method)
        ]
    return found
