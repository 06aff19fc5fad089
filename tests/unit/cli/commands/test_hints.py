"""What a command says when it found nothing."""

from collections.abc import Callable

import grpc
import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.recall.v1 import recall_pb2

from .fake_service import FakeService, a_reply

Recall = Callable[..., tuple[int, str, str]]
OWNED = "without --user only what belongs to no user"


class ImportedService(FakeService):
    """A service whose memories were stored after the moment that is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.found = a_reply()

    def Recall(  # noqa: N802  gRPC's name
        self, request: recall_pb2.RecallRequest, context: grpc.ServicerContext
    ) -> recall_pb2.RecallResponse:
        """Find memories unless `as_of` is given."""
        super().Recall(request, context)
        return recall_pb2.RecallResponse(generation=1) if request.HasField("as_of") else self.found


@pytest.fixture
def fake() -> FakeService:
    """The service of these tests."""
    return ImportedService()


def test_a_time_before_an_import_names_the_other_axis(recall: Recall, service: FakeService) -> None:
    """The hint was tried: with `--valid-at` something is found."""
    code, out, err = recall("--as-of", "2026-05-01", "--tz", "Europe/Berlin")
    assert (code, "nothing found" in out) == (0, True)
    assert "--valid-at 2026-05-01T00:00+02:00" in err
    assert "finds 1" in err
    assert OWNED not in err
    assert service.request.valid_at.ToDatetime().isoformat() == "2026-04-30T22:00:00"
    assert recall("--as-of", "2026-05-01", "--json")[2] == ""


def test_whoever_names_no_user_is_told_what_that_means(recall: Recall, service: FakeService) -> None:
    """Whether there is more is not said."""
    assert OWNED not in recall()[2], "something was found"
    assert isinstance(service, ImportedService)
    service.found.Clear()
    assert OWNED in recall()[2]
    assert OWNED not in recall("--user", "ana")[2]


@pytest.mark.parametrize("command", [("why-not", "4f" * 16, "which?"), ("memory", "history", "4f" * 16)])
def test_a_memory_that_is_not_found_may_belong_to_a_user(
    service: FakeService, command: tuple[str, ...]
) -> None:
    """Only where no user was named."""
    service.refuse = (grpc.StatusCode.NOT_FOUND, "no memory is visible to this scope")
    for more, told in (((), True), (("--user", "ana"), False)):
        result = CliRunner().invoke(app, [*command, "--tenant", "acme", "--query", service.address, *more])
        assert result.exit_code == 1
        assert "no memory is visible to this scope" in result.stderr
        assert (OWNED in result.stderr) is told


def test_a_session_that_is_not_found_may_be_of_another_user(service: FakeService) -> None:
    """Only where no user was named."""
    for more, told in (((), True), (("--user", "ana"), False)):
        command = ["session", "show", "s1", "--tenant", "acme", "--query", service.address]
        result = CliRunner().invoke(app, [*command, *more])
        assert (result.exit_code, OWNED in result.stderr) == (1, told)
        assert "no memory of session 's1' is visible" in result.stderr


@pytest.mark.parametrize("before", ["2026-03-01", "2026-02-01"])
def test_an_empty_span_of_time_is_refused(recall: Recall, before: str) -> None:
    """Both options are named."""
    code, _, err = recall("--after", "2026-03-01", "--before", before)
    assert code == 2
    assert f"--after: 2026-03-01 must be earlier than --before {before}" in err


def test_a_forgotten_memory_says_so_and_what_shows_it_again(service: FakeService) -> None:
    """Not that it may be of another user."""
    service.refuse = (grpc.StatusCode.NOT_FOUND, "no memory is visible to this scope")
    service.ids = ["a" * 32]
    service.states = [recall_pb2.MemoryState(loss=recall_pb2.LOSS_FORGOTTEN, event_sequence=7)]
    command = ["memory", "show", "a" * 32, "--tenant", "acme", "--query", service.address]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    assert "it is forgotten by the event with sequence 7; `helix memory restore` shows it" in result.stderr
    assert OWNED not in result.stderr


@pytest.mark.parametrize(
    "command",
    [["memory", "ls"], ["memory", "show", "a" * 32], ["session", "ls"], ["memory", "history", "a" * 32]],
)
def test_a_missing_tenant_is_named_as_it_is_typed(service: FakeService, command: list[str]) -> None:
    """Not by the field of the contract."""
    result = CliRunner().invoke(app, [*command, "--query", service.address])
    assert (result.exit_code, result.stderr.partition(";")[0]) == (2, "error: --tenant: is missing")


def test_a_refused_field_has_the_name_of_its_option(service: FakeService) -> None:
    """People do not know the fields of the contract."""
    service.refuse = (grpc.StatusCode.INVALID_ARGUMENT, "scope.tenant_id: must match it")
    command = ["memory", "history", "a" * 32, "--tenant", "a b", "--query", service.address]
    assert CliRunner().invoke(app, command).stderr == "error: --tenant: must match it\n"
