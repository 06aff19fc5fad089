import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from helix_cli.security import setup, tokens
from helix_cli.security.certificates import new_authority, new_certificate
from helix_cli.security.folder import SecurityFolder
from helix_cli.security.jwks import WELL_KNOWN, fetch_keys
from helix_cli.security.users import read_state
from helix_shared.errors import InvalidInputError, PermanentError, TemporaryError
from helix_shared.rpc.access.static_tokens import matching, parse_tokens
from tests.unit.shared.access.keys import jwks, private_key

NOW = datetime(2026, 11, 24, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> SecurityFolder:
    """A folder with a publisher of acme."""
    made = SecurityFolder(tmp_path / "security")
    setup.init(made, tenants={"acme": ["write"]})
    return made


def secrets_of(folder: SecurityFolder) -> list[str]:
    """Every secret that the folder has in a file."""
    files = [*(folder.root / "nats").iterdir(), *(folder.root / "tokens").iterdir()]
    return [path.read_text().strip().rpartition(":")[2] for path in files]


def test_secrets_stand_in_files_of_their_own_that_nobody_else_may_read(folder: SecurityFolder) -> None:
    """State, configuration and the file of tokens have hashes alone."""
    for path in folder.root.rglob("*"):
        if path.is_file() and path.name != "lock":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    kept = "".join(
        (folder.root / name).read_text() for name in ("state.json", "nats-access.conf", "tokens.json")
    )
    assert not [secret for secret in secrets_of(folder) if secret in kept]
    assert len(set(secrets_of(folder))) == len(read_state(folder).users) + 2


def test_init_again_adds_tenants_and_changes_no_secret(folder: SecurityFolder) -> None:
    """It may be repeated; another certificate needs a new folder."""
    before = secrets_of(folder)
    assert setup.init(folder, tenants={"acme": ["write"], "beta": ["write", "erase"]}) == ["beta"]
    assert set(before) < set(secrets_of(folder))
    with pytest.raises(InvalidInputError, match="has a certificate"):
        setup.init(folder, tenants={}, hosts=["other"])


@pytest.mark.parametrize(
    "tenants", [{"a.b": ["write"]}, {"": ["write"]}, {"acme": ["admin"]}, {"acme": []}, {"a*": ["write"]}]
)
def test_a_wrong_tenant_or_role_makes_nothing(tmp_path: Path, tenants: dict[str, list[str]]) -> None:
    """A name with a wildcard would be a right for others."""
    folder = SecurityFolder(tmp_path / "security")
    with pytest.raises(InvalidInputError):
        setup.init(folder, tenants=tenants)
    assert not folder.exists


def test_given_certificates_are_used_and_checked(tmp_path: Path) -> None:
    """An organisation has an authority of its own."""
    authority = new_authority()
    certificate, key = new_certificate(authority, ["helix.example.org", "10.0.0.1"])
    files = [tmp_path / name for name in ("cert.pem", "key.pem", "ca.pem")]
    for path, content in zip(files, (certificate, key, authority[0]), strict=True):
        path.write_bytes(content)
    folder = SecurityFolder(tmp_path / "security")
    setup.init(folder, tenants={}, given=(files[0], files[1], files[2]))
    assert folder.certificate.read_bytes() == certificate
    setup.begin_rotation(folder)
    assert folder.certificate.read_bytes() == certificate, "only its maker can renew it"
    with pytest.raises(InvalidInputError, match="no certificate"):
        setup.init(SecurityFolder(tmp_path / "other"), tenants={}, given=(files[1], files[1], files[2]))


def test_a_rotation_keeps_the_old_secrets_until_it_ends(folder: SecurityFolder) -> None:
    """Both are valid meanwhile; a second rotation waits; a publisher's secret is not touched."""
    own = {name: (folder.nats_file(name)).read_text() for name in ("ingest", "tenant-acme")}
    token = folder.token_file("operator").read_text().strip()
    setup.begin_rotation(folder)
    users = read_state(folder).users
    assert (sorted(users["ingest"].hashes), sorted(users["tenant-acme"].hashes)) == ([1, 2], [1])
    with pytest.raises(PermanentError, match="has not ended"):
        setup.begin_rotation(folder)
    renewed = folder.token_file("operator").read_text().strip()
    assert [known(folder, one) for one in (token, renewed)] == [True, True]
    setup.end_rotation(folder)
    assert sorted(read_state(folder).users["ingest"].hashes) == [2]
    assert [known(folder, one) for one in (token, renewed)] == [False, True]
    assert folder.nats_file("ingest").read_text() != own["ingest"]
    assert folder.nats_file("tenant-acme").read_text() == own["tenant-acme"]


def known(folder: SecurityFolder, token: str) -> bool:
    """Whether the services would take a token."""
    return matching(parse_tokens(folder.tokens.read_bytes()), token, now=NOW) is not None


def test_a_token_stands_for_what_was_granted_until_it_is_ended(folder: SecurityFolder) -> None:
    """The services read the file that the command writes."""
    grant = tokens.Grant(["acme"], "ana", ["board"], ["recall"])
    identity, token = tokens.add_token(folder, grant)
    found = matching(parse_tokens(folder.tokens.read_bytes()), token, now=NOW)
    assert found is not None
    assert (found.tenants, found.user, found.principals) == ({"acme"}, "ana", {"board"})
    tokens.end_token(folder, identity)
    assert not known(folder, token)
    with pytest.raises(InvalidInputError, match="no token"):
        tokens.end_token(folder, identity)
    for wrong in (tokens.Grant(["a.b"], "", [], ["recall"]), tokens.Grant(["acme"], "", [], ["root"])):
        before = folder.tokens.read_bytes()
        with pytest.raises(InvalidInputError):
            tokens.add_token(folder, wrong)
        assert folder.tokens.read_bytes() == before


@pytest.fixture
def issuer() -> Iterator[tuple[str, dict[str, bytes]]]:
    """An OIDC issuer on this machine: its address, and what it answers by path."""
    answers: dict[str, bytes] = {}

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path in answers else 404)
            self.end_headers()
            self.wfile.write(answers.get(self.path, b""))

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    answers[WELL_KNOWN] = json.dumps({"issuer": address, "jwks_uri": f"{address}/keys"}).encode()
    answers["/keys"] = jwks(a=private_key("EC"))
    yield address, answers
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_keys_of_an_issuer_are_fetched_and_a_failure_keeps_them(
    issuer: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    """The services go on with the keys that they have."""
    address, answers = issuer
    path = tmp_path / "keys.json"
    assert fetch_keys(address, path) == 1
    assert path.read_bytes() == answers["/keys"]
    answers["/keys"] = jwks(a=private_key("EC"), b=private_key("OKP"))
    assert fetch_keys(address, path) == 2
    kept = answers["/keys"]
    for broken in (b"", b"<html>", b'{"keys": []}'):
        answers["/keys"] = broken
        with pytest.raises(InvalidInputError):
            fetch_keys(address, path)
        assert path.read_bytes() == kept
    del answers["/keys"]
    with pytest.raises(TemporaryError):
        fetch_keys(address, path)
    answers[WELL_KNOWN] = json.dumps({"issuer": "https://other", "jwks_uri": f"{address}/keys"}).encode()
    with pytest.raises(InvalidInputError, match="under another name"):
        fetch_keys(address, path)
    for insecure in ("http://issuer.example", "file:///etc/passwd", "ftp://x"):
        with pytest.raises(InvalidInputError, match="https"):
            fetch_keys(insecure, path)
