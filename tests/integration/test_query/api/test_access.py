"""The query service with authentication and TLS, as a process, and its refusals to start without."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest

from helix_cli.security.certificates import new_authority, new_certificate
from helix_memory.errors import DeniedError, InvalidInputError, TemporaryError, UnauthenticatedError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.credentials import CallCredentials
from helix_memory.transport.recall_client import RecallClient
from helix_shared.rpc.access.authenticator import REFUSED
from helix_shared.rpc.access.static_tokens import token_digest
from tests.unit.shared.access.keys import AUDIENCE, ISSUER, claims, pem, private_key, write_secret

pytestmark = pytest.mark.integration

KEY = private_key("EC")
CONFIG_EXIT = 78


class World:
    """A service on two tenants, its certificates, and tokens for both."""

    def __init__(self, folder: Path, corpus_type: Any, encoder: Any, serve: Any) -> None:
        corpus = corpus_type.create(folder / "data", encoder)
        self.ids = corpus.add(
            [
                {"text": "We chose the database Postgres.", "tenant_id": "acme"},
                {"text": "Ana keeps the database password in a safe.", "tenant_id": "acme", "user_id": "ana",
                 "owner": "ana"},
                {"text": "The database of beta is Oracle.", "tenant_id": "beta"},
            ]
        )  # fmt: skip
        corpus.publish()
        corpus.live.close()
        authority = new_authority()
        self.files = {"ca": write_secret(folder / "ca.pem", authority[0])}
        for name, host in {"server": "127.0.0.1", "caller": "caller"}.items():
            certificate, key = new_certificate(authority, [host])
            self.files[name] = write_secret(folder / f"{name}.pem", certificate)
            self.files[f"{name}_key"] = write_secret(folder / f"{name}.key", key)
        grants = {
            "ana": {"tenant": "acme", "user": "ana", "roles": ["recall"]},
            "beta": {"tenant": "beta", "roles": ["recall"]},
            "writer": {"tenant": "acme", "roles": ["write"]},
            "gateway": {"tenants": ["acme", "beta"], "user": "*", "roles": ["recall", "admin"]},
        }
        entries = [
            {"id": name, "sha256": token_digest(f"token-of-{name}"), **one} for name, one in grants.items()
        ]
        tokens = write_secret(folder / "tokens.json", json.dumps({"tokens": entries}))
        self.settings = {
            "HELIX_QUERY_AUTH": "tokens+jwt",
            "HELIX_QUERY_TOKENS_FILE": str(tokens),
            "HELIX_QUERY_JWT_KEYS_FILE": str(write_secret(folder / "key.pem", pem(KEY))),
            "HELIX_QUERY_JWT_ISSUER": ISSUER,
            "HELIX_QUERY_JWT_AUDIENCE": AUDIENCE,
            "HELIX_QUERY_TLS_CERT_FILE": str(self.files["server"]),
            "HELIX_QUERY_TLS_KEY_FILE": str(self.files["server_key"]),
            "HELIX_QUERY_TLS_CLIENT_CA_FILE": str(self.files["ca"]),
            "HELIX_QUERY_TENANT_RATE": "1000",
        }
        # the helper asks for health in the clear, so the log says when it listens
        self.service = serve(folder, self.settings)

    def client(self, token: str = "", **files: Any) -> RecallClient:
        """A caller with a certificate and a token."""
        usual = {
            "ca_file": self.files["ca"],
            "cert_file": self.files["caller"],
            "key_file": self.files["caller_key"],
        }
        credentials = CallCredentials(token=token, **(usual | files))
        return RecallClient(self.service.address, credentials=credentials, call_seconds=20)

    def texts(self, token: str, **scope: Any) -> set[str]:
        """What a recall about databases returns."""
        with self.client(token) as client:
            reply = client.recall(recall_pb2.RecallRequest(scope=scope, query="Which database?", top_k=20))
        return {one.memory.text for one in reply.memories}


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, corpus_type: Any, encoder: Any, models_dir: Path
) -> Iterator[World]:
    """The world of this file."""
    from tests.integration.test_query.service import start_service  # noqa: PLC0415  of the rooms below

    started = []

    def serve(folder: Path, settings: dict[str, str]) -> Any:
        started.append(start_service(folder / "data", models_dir, folder / "query.log", **settings))
        return started[0]

    made = World(tmp_path_factory.mktemp("access"), corpus_type, encoder, serve)

    def is_serving(_: Any) -> bool:
        try:
            with made.client("token-of-gateway") as client:
                return bool(client.status().generation)
        except TemporaryError:
            return False

    made.service.wait_for(is_serving)
    yield made
    assert made.service.stop() == 0


def test_the_scope_comes_from_the_credential(world: World) -> None:
    """The same request means another tenant and user for another credential."""
    assert world.texts("token-of-ana") == {
        "We chose the database Postgres.",
        "Ana keeps the database password in a safe.",
    }
    assert world.texts("token-of-beta") == {"The database of beta is Oracle."}
    assert world.texts("token-of-gateway", tenant_id="acme") == {"We chose the database Postgres."}
    assert len(world.texts("token-of-gateway", tenant_id="acme", user_id="ana")) == 2


def test_a_jwt_stands_for_its_claims(world: World) -> None:
    """Signed by the issuer's key; a token of another key is refused."""
    token = jwt.encode(claims(principals=None), KEY, algorithm="ES256")
    assert "Ana keeps the database password in a safe." in world.texts(token)
    forged = jwt.encode(claims(), private_key("EC"), algorithm="ES256")
    expired = jwt.encode(claims(exp=time.time() - 60), KEY, algorithm="ES256")
    for bad in (forged, expired, jwt.encode(claims(), None, algorithm="none")):
        with pytest.raises(UnauthenticatedError):
            world.texts(bad)


@pytest.mark.parametrize("scope", [{"tenant_id": "beta"}, {"user_id": "bo"}, {"principals": ["board"]}])
def test_another_scope_is_denied_without_telling_what_exists(world: World, scope: dict[str, Any]) -> None:
    """The answer is the same for a tenant that exists and one that does not."""
    messages = set()
    for claimed in (scope, {"tenant_id": "nobody"}):
        with pytest.raises(DeniedError) as denied:
            world.texts("token-of-ana", **claimed)
        messages.add(str(denied.value))
    assert len(messages) == 1


@pytest.mark.parametrize("token", ["", "wrong", "token-of-ana ; token-of-beta", "a.b.c"])
def test_no_valid_token_gets_one_message(world: World, token: str) -> None:
    """Whatever is wrong with it."""
    with pytest.raises(UnauthenticatedError, match=REFUSED.split(";", maxsplit=1)[0]):
        world.texts(token)


def test_a_credential_without_the_role_cannot_recall_but_may_wait(world: World) -> None:
    """A program that only writes asks for the position of the generation alone."""
    with pytest.raises(DeniedError, match="lacks the role recall"):
        world.texts("token-of-writer")
    with world.client("token-of-writer") as client:
        status = client.status()
    assert status.applied_sequence
    assert (status.memories, status.entities, status.uptime_seconds) == (0, 0, 0)
    with world.client("token-of-gateway") as client:
        assert client.status().memories == 3


def test_tls_and_the_certificate_of_the_caller_are_required(world: World) -> None:
    """In the clear, without a certificate, or with one of another authority nothing is answered."""
    other = new_certificate(new_authority(), ["caller"])
    folder = world.files["ca"].parent
    foreign = {
        "cert_file": write_secret(folder / "other.pem", other[0]),
        "key_file": write_secret(folder / "other.key", other[1]),
    }
    for files in ({"cert_file": None, "key_file": None}, foreign):
        with world.client("token-of-ana", **files) as client, pytest.raises(TemporaryError):
            client.status()
    with RecallClient(world.service.address) as client, pytest.raises(TemporaryError):
        client.status()


def test_a_token_is_not_sent_in_the_clear_to_another_machine() -> None:
    """A forgotten option must not cost a secret; on this machine it may be."""
    with pytest.raises(InvalidInputError, match="in the clear"):
        RecallClient("10.0.0.1:7461", credentials=CallCredentials("x"))
    RecallClient("127.0.0.1:7461", credentials=CallCredentials("x")).close()


def test_a_secured_service_has_no_reflection(world: World) -> None:
    """Only health answers everybody."""
    credentials = CallCredentials(
        ca_file=world.files["ca"], cert_file=world.files["caller"], key_file=world.files["caller_key"]
    )
    with credentials.channel(world.service.address) as channel:
        for method, code in {
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": grpc.StatusCode.UNIMPLEMENTED,
            "/grpc.health.v1.Health/Check": None,
        }.items():
            try:
                channel.unary_unary(method)(b"", timeout=10)
                found = None
            except grpc.RpcError as error:
                found = error.code()
            assert found == code, method


def test_no_token_is_in_the_log(world: World) -> None:
    """Reasons are logged, secrets are not."""
    with pytest.raises(UnauthenticatedError):
        world.texts("s3cret-that-is-wrong")
    log = world.service.log.read_text()
    assert "credential_refused" in log
    assert "s3cret" not in log
    assert "token-of" not in log


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"HELIX_QUERY_LISTEN": "0.0.0.0:0"}, "HELIX_QUERY_LISTEN"),
        ({"HELIX_QUERY_ACCESS_LISTEN": "0.0.0.0:0"}, "HELIX_QUERY_ACCESS_LISTEN"),
        ({"HELIX_QUERY_AUTH": "tokens"}, "HELIX_QUERY_TOKENS_FILE"),
        ({"HELIX_QUERY_AUTH": "tokens", "HELIX_QUERY_TOKENS_FILE": "/nowhere"}, "HELIX_QUERY_TOKENS_FILE"),
    ],
)
def test_an_open_or_half_secured_service_does_not_start(
    tmp_path: Path, start: Any, settings: dict[str, str], named: str
) -> None:
    """It names the setting; a supervisor does not start it again."""
    service = start(tmp_path / "data", **settings)
    assert service.process.wait(60) == CONFIG_EXIT
    assert service.log.read_text().splitlines()[-1].startswith(f"{named}: ")


def test_every_start_without_authentication_says_so(tmp_path: Path, start: Any) -> None:
    """Also one that is allowed to be open."""
    service = start(tmp_path / "data", HELIX_QUERY_LISTEN="0.0.0.0:0", HELIX_QUERY_INSECURE="true")
    service.wait_for(lambda one: '"listening"' in one.log.read_text())
    warnings = [
        json.loads(line) for line in service.log.read_text().splitlines() if "no authentication" in line
    ]
    assert [one["setting"] for one in warnings] == ["HELIX_QUERY_AUTH"]


def test_a_tenant_above_its_rate_is_told_how_long_to_wait(corpus: Any, in_process: Any) -> None:
    """RESOURCE_EXHAUSTED with the delay in the trailer; another tenant goes on."""
    corpus.add([{"text": "We chose the database Postgres."}])
    corpus.publish()
    service = in_process(
        corpus.root, tenant_rate=0.01, tenant_burst=2, deadline_seconds=20, channel_deadline_seconds=10
    )
    service.recall("Which database?")
    service.recall("Which database?")
    with pytest.raises(grpc.RpcError) as refused:
        service.recall("Which database?")
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    trailer = dict(refused.value.trailing_metadata())
    assert 90_000 < int(trailer["grpc-retry-pushback-ms"]) <= 100_000
    service.recall("Which database?", scope={"tenant_id": "beta"})
