"""The reference of a protobuf file as Markdown: its services, messages and enums with their comments."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import (  # type: ignore[import-untyped] # stubs are a namespace package
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)
from grpc_tools import protoc

from helix_docs.sources import ROOT, GoneError

# Numbers of the fields in descriptor.proto, of which the path of a comment is made.
_MESSAGES: Final = 4
_ENUMS: Final = 5
_SERVICES: Final = 6
_PARTS: Final = 2
"""Fields of a message, values of an enum, methods of a service."""
_NESTED: Final = 3
_NESTED_ENUMS: Final = 4
_SYNTAX: Final = (12,)

Location = tuple[int, ...]


def reference(path: str) -> str:
    """The reference of the file at `path` in the repository.

    Raises:
        GoneError: it does not exist or is no protobuf file.
    """
    return "\n".join(_Reference(_described(path)).lines())


def _described(path: str) -> FileDescriptorProto:
    proto = ROOT / "proto"
    relative = (ROOT / path).relative_to(proto)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "set"
        well_known = Path(protoc.__file__).parent / "_proto"
        wanted = [f"-I{proto}", f"-I{well_known}", "--include_source_info", f"--descriptor_set_out={written}"]
        if protoc.main(["protoc", *wanted, str(relative)]) != 0:
            raise GoneError(f"{path} cannot be read as protobuf")
        (file,) = FileDescriptorSet.FromString(written.read_bytes()).file
    return file


class _Reference:
    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file
        self._comments = {
            tuple(place.path): place.leading_comments or place.trailing_comments
            for place in file.source_code_info.location
        }

    def lines(self) -> Iterator[str]:
        yield from (_paragraphs(self._comments.get(_SYNTAX, "")), "")
        for number, service in enumerate(self._file.service):
            yield from self._service(service, (_SERVICES, number))
        for number, message in enumerate(self._file.message_type):
            yield from self._message(message, (_MESSAGES, number), message.name)
        for number, enum in enumerate(self._file.enum_type):
            yield from self._enum(enum, (_ENUMS, number), enum.name)

    def _head(self, name: str, path: Location) -> list[str]:
        return [f"## {name}", "", _paragraphs(self._comments.get(path, "")), ""]

    def _service(self, service: ServiceDescriptorProto, path: Location) -> Iterator[str]:
        yield from self._head(service.name, path)
        yield from ("| method | takes | returns | what |", "|---|---|---|---|")
        for number, method in enumerate(service.method):
            stream = "a stream of " if method.server_streaming else ""
            takes, returns = self._type(method.input_type), self._type(method.output_type)
            yield f"| `{method.name}` | {takes} | {stream}{returns} | {self._cell((*path, _PARTS, number))} |"
        yield ""

    def _message(self, message: DescriptorProto, path: Location, name: str) -> Iterator[str]:
        yield from self._head(name, path)
        if message.field:
            yield from ("| field | type | number | what |", "|---|---|---|---|")
        for number, one in enumerate(message.field):
            what = self._cell((*path, _PARTS, number))
            yield f"| `{one.name}` | {self._field_type(one, message.nested_type)} | {one.number} | {what} |"
        yield ""
        for number, nested in enumerate(message.nested_type):
            if not nested.options.map_entry:
                yield from self._message(nested, (*path, _NESTED, number), f"{name}.{nested.name}")
        for number, enum in enumerate(message.enum_type):
            yield from self._enum(enum, (*path, _NESTED_ENUMS, number), f"{name}.{enum.name}")

    def _enum(self, enum: EnumDescriptorProto, path: Location, name: str) -> Iterator[str]:
        yield from (*self._head(name, path), "| value | number | what |", "|---|---|---|")
        for number, value in enumerate(enum.value):
            yield f"| `{value.name}` | {value.number} | {self._cell((*path, _PARTS, number))} |"
        yield ""

    def _field_type(self, one: FieldDescriptorProto, nested: Sequence[DescriptorProto]) -> str:
        name = one.type_name.rpartition(".")[2]
        entry = next((other for other in nested if other.options.map_entry and other.name == name), None)
        if entry is not None:
            key, value = (self._scalar(part) for part in entry.field)
            return f"map of {key} to {value}"
        if one.label == FieldDescriptorProto.LABEL_REPEATED:
            return f"repeated {self._scalar(one)}"
        return f"optional {self._scalar(one)}" if one.proto3_optional else self._scalar(one)

    def _scalar(self, one: FieldDescriptorProto) -> str:
        if one.type_name:
            return self._type(one.type_name)
        return str(FieldDescriptorProto.Type.Name(one.type)).removeprefix("TYPE_").lower()

    def _type(self, full: str) -> str:
        """A type of this file as a link to its section."""
        own = f".{self._file.package}."
        if not full.startswith(own):
            return f"`{full.lstrip('.')}`"
        name = full.removeprefix(own)
        return f"[{name}](#{name.replace('.', '').lower()})"

    def _cell(self, path: Location) -> str:
        return _escaped(" ".join(self._comments.get(path, "").split())).replace("|", "\\|")


def _paragraphs(comment: str) -> str:
    return _escaped("\n".join(line.removeprefix(" ") for line in comment.strip("\n").split("\n")))


def _escaped(text: str) -> str:
    """Comments are plain text: no brackets of HTML or of links, no stars and underscores of Markdown."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\[\]<>*_])", r"\\\1", part) for part in parts)
