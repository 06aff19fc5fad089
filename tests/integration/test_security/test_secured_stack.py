"""All of Helix with `helix security init`: every process with its own user, recalls with tokens over TLS."""

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from helix_cli.stack.stack import Stack
from helix_memory.client import DeniedError, Helix, InvalidInputError, UnauthenticatedError
from helix_memory.errors import HelixError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.credentials import CallCredentials
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest, raw_manifest
from helix_shared.encoders.store import default_model
from helix_shared.keys.key_store import KEYS
from tests.end_to_end.gateway_calls import over_stdio
from tests.integration.test_cli.running import run

pytestmark = pytest.mark.integration

TEA = "The kettle in the workshop is descaled with vinegar."


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition; an error of Helix means that it does not hold yet."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except HelixError:
            pass
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def security(stack: Stack) -> Path:
    """The folder with the secrets."""
    return stack.home.root / "security"


def token(stack: Stack, *options: str) -> str:
    """A new token, as the command prints it."""
    code, out, err = run(stack.home.root, "security", "token", *options)
    assert code == 0, err
    assert out.strip() not in (security(stack) / "tokens.json").read_text()
    return out.strip()


def client(stack: Stack, secret: str, *, tenant: str = "acme", **more: Any) -> Helix:
    """The client of a program that has a token and the publisher of a tenant."""
    return Helix(
        "127.0.0.1",
        tenant=tenant,
        nats_port=int(stack.nats_url.rpartition(":")[2]),
        query_port=int(stack.query_address.rpartition(":")[2]),
        token=secret,
        ca_file=security(stack) / "ca.pem",
        nats_credentials=security(stack) / "nats" / f"tenant-{tenant}",
        deadline_seconds=30,
        **more,
    )


def violations(stack: Stack) -> list[str]:
    """What NATS refused to users of services and to the operator."""
    lines = (stack.home.nats / "nats.log").read_text().splitlines()
    return [line for line in lines if "Violation" in line and "user:tenant-" not in line]


def test_programs_write_and_recall_with_the_credentials_of_their_tenant(stack: Stack) -> None:
    """A write is waited for, a refused one says so, and every process does its work with its own user."""
    with client(stack, token(stack, "--tenant", "acme", "--user", "ana"), user="ana") as helix:
        session = helix.session("s1")
        with session:
            session.message(TEA, speaker="Ana", wait=True)
        found = helix.recall("how is the kettle descaled?")
        assert [one.text for one in found.memories] == [TEA]
        with pytest.raises(InvalidInputError, match=r"PDF|document"):
            helix.document("d1", b"%PDF-1.4 broken", media_type="application/pdf", wait=True)
        helix.erase(found.memories[0], wait=True)
        assert not helix.recall("how is the kettle descaled?").memories
    code, _, err = run(stack.home.root, "publish", "--session", "s2", "--text", TEA, "--wait")
    assert code == 0, err
    code, out, err = run(stack.home.root, "recall", "how is the kettle descaled?")
    assert code == 0, err
    assert TEA in out
    assert violations(stack) == []


def test_what_was_served_reaches_the_writer_through_a_service_token(stack: Stack) -> None:
    """The forwarder has a token of its own; a recall token cannot read what others were served."""
    code, _, err = run(
        stack.home.root, "publish", "--session", "s3", "--text", "The mill grinds oats.", "--wait"
    )
    assert code == 0, err
    with RecallClient(stack.query_address, credentials=stack.secured.calls) as operator:
        request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="what does the mill grind?")
        served = operator.recall(request).memories[0].memory.memory_id
        until(lambda: operator.memory(recall_pb2.Scope(tenant_id="acme"), served).access_count)
    secret = token(stack, "--tenant", "*", "--role", "recall", "--role", "admin")
    address = next(
        child.environment["HELIX_FORWARDER_ACCESS_ADDRESS"]  # type: ignore[attr-defined]
        for child in stack.processes
        if child.name == "forwarder-1"
    )
    credentials = CallCredentials(token=secret, ca_file=security(stack) / "ca.pem")
    with credentials.channel(address) as channel:
        stub: Any = recall_pb2_grpc.AccessServiceStub(channel)  # type: ignore[no-untyped-call] # generated
        call = stub.StreamAccesses(
            recall_pb2.StreamAccessesRequest(), metadata=credentials.metadata(), timeout=10
        )
        with pytest.raises(grpc.RpcError) as refused:
            next(call)
    assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED


async def test_the_gateway_passes_on_the_credential_of_its_caller(stack: Stack, tmp_path: Path) -> None:
    """Tenant, user and role are those of the token, for reads and writes, in REST and for agents."""
    secret = token(stack, "--tenant", "acme", "--user", "gil", "--role", "recall", "--role", "write")
    context = ssl.create_default_context(cafile=security(stack) / "ca.pem")

    def ask(path: str, body: Any = None, *, bearer: str = secret, **headers: str) -> tuple[int, Any]:
        named = {"Content-Type": "application/json", "Authorization": f"Bearer {bearer}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{stack.gateway_url}{path}", data, named)  # noqa: S310  our own
        try:
            with urllib.request.urlopen(request, timeout=200, context=context) as reply:  # noqa: S310  likewise
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())["error"]["type"]

    status, kept = ask("/v1/remember", {"text": "Gil keeps bees.", "wait": True})
    assert status == 200
    with client(stack, secret, user="gil") as helix:
        assert helix.get(kept["memory_id"]).user_id == "gil"
    assert ask("/v1/erase", {"memories": [kept["memory_id"]]}) == (403, "denied")
    assert ask("/v1/status", helix_tenant="beta") == (403, "denied")
    assert ask("/v1/remember", {"text": "x"}, helix_user="ana") == (403, "denied")
    assert ask("/v1/remember", {"text": "x", "acl": ["admins"]}) == (403, "denied")
    assert ask("/v1/remember", {"text": "x", "user": "ana"}) == (400, "invalid_input")
    assert ask("/v1/status", bearer="helix_wrong") == (401, "unauthenticated")
    assert ask("/mcp", {}, bearer="helix_wrong") == (401, "unauthenticated")
    several = token(stack, "--tenant", "*", "--role", "recall")
    assert ask("/v1/profile", bearer=several) == (403, "denied")
    assert ask("/v1/profile", bearer=several, helix_tenant="beta")[0] == 200
    assert ask("/v1/remember", {"text": "x"}, bearer=several, helix_tenant="beta") == (403, "denied")
    (file := tmp_path / "token").write_text(secret)
    file.chmod(0o600)
    home = {"HELIX_HOME": str(stack.home.root)}
    async with over_stdio(**home, HELIX_TOKEN_FILE=str(file)) as agent:
        found = (await agent.call_tool("recall", {"query": "who keeps bees?"})).structured_content
        assert found["memories"][0]["text"] == "Gil keeps bees."
    code, _, err = run(stack.home.root, "mcp")
    assert (code, "HELIX_TOKEN_FILE" in err) == (2, True)
    assert violations(stack) == []


def test_the_explorer_shows_an_admin_every_stream(stack: Stack) -> None:
    """The gateway's user of NATS may ask for their state, and the pulse has the lag."""
    secret = token(stack, "--tenant", "acme", "--role", "recall", "--role", "admin")
    context = ssl.create_default_context(cafile=security(stack) / "ca.pem")

    def page(path: str) -> str:
        url, headers = f"{stack.gateway_url}/explorer{path}", {"Authorization": f"Bearer {secret}"}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310  our own
        with urllib.request.urlopen(request, timeout=200, context=context) as reply:  # noqa: S310  likewise
            return str(reply.read().decode())

    assert json.loads(page("/pulse"))["lag"] is not None
    overview = page("")
    for name in ("HELIX_EVENTS", "HELIX_DERIVED", "HELIX_DLQ"):
        assert f"{name}</th>" in overview
    assert violations(stack) == []


def test_a_credential_of_one_tenant_reaches_no_other(stack: Stack) -> None:
    """Not by the scope of a request, and not by an event; an ended token reaches nothing."""
    secret = token(stack, "--tenant", "acme", "--user", "ana", "--note", "for this test")
    with client(stack, secret, tenant="beta") as helix, pytest.raises(DeniedError):
        helix.recall("how is the kettle descaled?")
    variables = {
        "HELIX_NATS_CREDENTIALS": str(security(stack) / "nats" / "tenant-acme"),
        "HELIX_NATS_CA": str(security(stack) / "ca.pem"),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        publish = ("publish", "--nats", stack.nats_url, "--text", "x", "--session", "s9")
        code, _, err = run(stack.home.root, *publish, "--tenant", "beta")
        assert (code, "publishes for acme alone" in err) == (1, True), err
        code, _, err = run(stack.home.root, *publish, "--tenant", "acme")
        assert code == 0, err
    _, shown, _ = run(stack.home.root, "security", "show")
    identity = next(line for line in shown.splitlines() if "for this test" in line).split("id=")[1].split()[0]
    assert secret not in shown
    assert run(stack.home.root, "security", "revoke", identity)[0] == 0
    with client(stack, secret) as helix, pytest.raises(UnauthenticatedError, match="no valid credential"):
        helix.recall("how is the kettle descaled?")


def helix(stack: Stack, *arguments: str) -> str:
    """What a command prints that ends with 0."""
    code, out, err = run(stack.home.root, *arguments)
    assert code == 0, (arguments, out + err)
    return out


def letters(stack: Stack) -> list[int]:
    """Sequences of the dead letters, newest first."""
    return [letter["sequence"] for letter in json.loads(helix(stack, "dlq", "ls", "--json"))]


@pytest.mark.long
def test_every_command_of_an_operator_works_with_its_user(stack: Stack, tmp_path: Path) -> None:
    """Erasures, dead letters, copies, a rebuild and the doctor: no request is refused."""
    with client(stack, token(stack, "--tenant", "acme"), user="ana") as program:
        with program.session("safe") as session:
            session.message("The safe opens with plughplover77.", speaker="Ana", wait=True)
            session.message("Write that down, and tell nobody.", speaker="Ben", wait=True)
        for number in range(2):
            with pytest.raises(InvalidInputError, match=r"PDF|document"):
                program.document(f"p{number}", b"%PDF-1.4 broken", media_type="application/pdf", wait=True)
    erased = json.loads(
        helix(stack, "erase", "--yes", "--of-session", "safe", "--user", "ana", "--verify", "--json")
    )
    assert erased

    first, second, *_ = letters(stack)
    code, out, err = run(stack.home.root, "dlq", "redrive", str(first))
    assert (code, "PDF" in out + err) == (1, True), out + err
    helix(stack, "dlq", "drop", str(second))
    assert second not in letters(stack)

    helix(stack, "publish", "--session", "s4", "--text", "The barn is painted red.", "--wait")
    assert run(stack.home.root, "clone", "--tenant", "acme", "--to", "gamma", "--wait")[0] in (0, 1)
    export = tmp_path / "acme.jsonl"
    helix(stack, "export", "--tenant", "acme", "--out", str(export))
    assert run(stack.home.root, "import", str(export), "--tenant", "delta", "--wait")[0] in (0, 1)
    for tenant in ("gamma", "delta"):
        assert "painted red" in helix(stack, "recall", "which colour has the barn?", "--tenant", tenant)

    helix(stack, "backup", str(tmp_path / "backups"))
    helix(stack, "rebuild", "--accept-differences")
    # the writer takes the lease again
    until(lambda: run(stack.home.root, "doctor")[0] == 0)
    assert violations(stack) == []


def test_a_restored_home_is_secured_while_it_is_restored_and_rebuilt(
    stack: Stack, models_dir: Path, tmp_path: Path
) -> None:
    """The servers of both commands have the users of that home, whose secrets are not those of the source."""
    # the generation of the backup has what was published before
    helix(stack, "publish", "--session", "s8", "--text", "The last one.", "--wait")
    helix(stack, "backup", str(tmp_path / "backups"))
    home = tmp_path / "restored"
    keys = str(stack.home.data / KEYS)
    for arguments in (("security", "init"), ("restore", str(tmp_path / "backups"), "--keys", keys, "--json")):
        code, out, err = run(home, *arguments)
        assert code == 0, out + err
    number = current_number(home / "data")
    assert number is not None
    folder = folder_of(home / "data", number)
    assert raw_manifest(folder)["checksum"]
    assert "authorization" in (home / "data" / "nats" / "nats.conf").read_text()
    built = default_model(models_dir)
    (home / "models").mkdir(exist_ok=True)
    (home / "models" / built.name).symlink_to(built)
    code, out, err = run(home, "rebuild", "--json", "--accept-differences")
    assert code == 0, out + err
    assert json.loads(out)["shards"][0]["memories"] == Manifest.read(folder).counts.recallable
    assert "authorization" in (home / "data" / "nats" / "nats.conf").read_text()


@pytest.mark.long
def test_rotated_secrets_replace_the_old_ones_while_everything_runs(stack: Stack) -> None:
    """The services restart with new secrets; the old ones end; a program's own token stays."""
    secret = token(stack, "--tenant", "acme")
    kept = stack.home.root / "old-operator"
    kept.write_text((security(stack) / "tokens" / "operator").read_text())
    kept.chmod(0o600)
    users = {child.name: child.pid for child in stack.processes}
    code, out, err = run(stack.home.root, "security", "rotate")
    assert code == 0, err
    assert "rotated" in out
    changed = {child.name for child in stack.processes if child.pid != users[child.name]}
    assert changed == users.keys() - {"nats"}
    old = CallCredentials(token_file=kept, ca_file=security(stack) / "ca.pem")
    with RecallClient(stack.query_address, credentials=stack.secured.calls) as operator:
        until(lambda: operator.status().memories)
    with RecallClient(stack.query_address, credentials=old) as refused, pytest.raises(UnauthenticatedError):
        refused.status()
    with client(stack, secret) as helix:
        helix.remember("After the rotation the cat sleeps.", wait=True)
        assert helix.recall("when does the cat sleep?").memories
    assert violations(stack) == []
