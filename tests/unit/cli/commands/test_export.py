"""Where an export is written, and who may read it and what else a command makes."""

import gzip
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_cli import __main__ as program
from helix_cli.commands.copies.export import _target, run_export
from helix_cli.home.addresses import Server
from helix_cli.home.folder import HomeFolder
from helix_shared.broker.server import free_port
from helix_shared.errors import InvalidInputError, TemporaryError


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    """A process whose files everybody may read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_an_export_is_for_its_owner_alone(tmp_path: Path) -> None:
    """It holds all texts of a tenant."""
    with _target(tmp_path / "acme.jsonl") as target:
        target.write(b"{}")
    assert [(path.name, stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.iterdir()] == [
        ("acme.jsonl", 0o600)
    ]


def test_an_export_is_compressed_by_its_ending(tmp_path: Path) -> None:
    """`helix import` takes it as it is."""
    with _target(tmp_path / "acme.jsonl.gz") as target:
        target.write(b"{}\n")
    assert gzip.decompress((tmp_path / "acme.jsonl.gz").read_bytes()) == b"{}\n"


def test_an_export_into_no_folder_names_the_option(tmp_path: Path) -> None:
    """Not the file that it is written to until it is complete."""
    with pytest.raises(InvalidInputError, match="--out: there is no folder"), _target(tmp_path / "no" / "x"):
        pass


def test_an_export_to_a_device_or_pipe_does_not_replace_it(tmp_path: Path) -> None:
    """As /dev/null, which a command of root would replace by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with _target(pipe) as target:
        target.write(b"{}")
    assert os.read(reader, 9) == b"{}"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_no_command_makes_files_that_every_user_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write the home could put another security folder there."""
    seen: list[int] = []
    monkeypatch.setattr(program, "app", lambda: seen.append(os.umask(0)))
    program.main()
    assert seen == [stat.S_IWOTH]


@pytest.mark.parametrize("tenant", ["a b", "a.>", "*", ""])
def test_an_export_of_no_tenant_asks_no_server(tmp_path: Path, tenant: str) -> None:
    """An audit record is filed under the tenant, on a subject that is none or stands for all."""
    nowhere = Server(f"nats://127.0.0.1:{free_port()}")
    with (tmp_path / "out").open("wb") as target, pytest.raises(InvalidInputError, match="is not a tenant"):
        run_export(nowhere, target, tenants=["acme", tenant], home=HomeFolder.at(tmp_path))


def test_an_export_of_a_tenant_asks_the_server(tmp_path: Path) -> None:
    """The control of the test above."""
    nowhere = Server(f"nats://127.0.0.1:{free_port()}")
    with (tmp_path / "out").open("wb") as target, pytest.raises(TemporaryError):
        run_export(nowhere, target, tenants=["acme"], home=HomeFolder.at(tmp_path))
