import json
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from helix_cli.commands.operating.security import jwks_command
from helix_cli.security import folder as security_folder
from helix_cli.security import setup, tokens
from helix_cli.security.certificates import (
    key_belongs,
    new_authority,
    new_certificate,
    read_certificates,
)
from helix_cli.security.folder import SecurityFolder
from helix_cli.security.jwks import WELL_KNOWN, fetch_keys
from helix_cli.security.users import read_state
from helix_shared.errors import InvalidInputError, PermanentError, TemporaryError
from helix_shared.machine.whole_file import write_whole
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


class KilledError(BaseException):
    """The command ends here, as by SIGKILL."""


def kill_after(writes: int, monkeypatch: pytest.MonkeyPatch, command: Callable[[], object]) -> None:
    """Run a command that is killed when it has written so many files."""
    left = [writes]

    def write(*arguments: Any, **options: Any) -> None:
        if left[0] == 0:
            raise KilledError
        left[0] -= 1
        write_whole(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(security_folder, "write_whole", write)
        with pytest.raises(KilledError):
            command()


def check_secrets(folder: SecurityFolder) -> None:
    """Everybody's secret is valid, and the key is that of the certificate."""
    for user in read_state(folder).users.values():
        assert user.has_secret(folder.nats_file(user.name).read_bytes()), user.name
    for name in ("operator", "forwarder"):
        assert known(folder, folder.token_file(name).read_text().strip())


def test_a_rotation_that_is_killed_anywhere_leaves_secrets_that_are_valid(
    folder: SecurityFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one goes on; so does one after `helix up` was killed while it ended a rotation."""
    writes = 4 + len(read_state(folder).users) + 4
    for number in range(writes):
        kill_after(number, monkeypatch, partial(setup.begin_rotation, folder))
        check_secrets(folder)
    setup.recover(folder)
    assert key_belongs(folder.key.read_bytes(), read_certificates(folder.certificate.read_bytes())[0])
    setup.begin_rotation(folder)
    kill_after(1, monkeypatch, partial(setup.end_rotation, folder))
    setup.recover(folder)
    check_secrets(folder)
    assert not read_state(folder).is_rotating
    assert setup.begin_rotation(folder) == 2


def test_a_key_whose_certificate_was_not_written_any_more_gets_another(
    folder: SecurityFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rotation that is killed between the two would keep NATS and the services from starting."""
    kill_after(1, monkeypatch, partial(setup.begin_rotation, folder))
    setup.recover(folder)
    assert key_belongs(folder.key.read_bytes(), read_certificates(folder.certificate.read_bytes())[0])


def test_init_that_is_killed_anywhere_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after its tokens were made."""
    folder = SecurityFolder(tmp_path / "security")
    for number in range(8):
        kill_after(number, monkeypatch, partial(setup.init, folder, tenants={"acme": ["write"]}))
        assert not folder.exists
    assert setup.init(folder, tenants={"acme": ["write"]}) == ["acme"]
    check_secrets(folder)


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


@pytest.mark.parametrize("body", ["{", '{"tokens": 5}', "[]", '{"tokens": [{"id": "a"}]}', '{"tokens": [5]}'])
def test_a_damaged_file_of_tokens_is_named(folder: SecurityFolder, body: str) -> None:
    """And not replaced: it may be mended."""
    folder.tokens.write_text(body)
    for use in (lambda: tokens.entries(folder), lambda: setup.begin_rotation(folder)):
        with pytest.raises(PermanentError, match=r"tokens\.json is damaged: tokens"):
            use()
    assert folder.tokens.read_text() == body


@pytest.fixture
def issuer() -> Iterator[tuple[str, dict[str, bytes]]]:
    """An OIDC issuer on this machine: its address, and what it answers by path."""
    answers: dict[str, bytes] = {}

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers.get(self.path, b"")
            moved = body.decode().partition("moved to ")[2]
            self.send_response(302 if moved else 200 if self.path in answers else 404)
            if moved:
                self.send_header("Location", moved)
            self.end_headers()
            self.wfile.write(body)

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
    for broken in (b"", b"<html>", b'{"keys": []}', b"-----BEGIN CERTIFICATE-----", b"[" * 100_000):
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
    for moved in ("http://issuer.example/keys", "ftp://issuer.example/keys"):
        answers[WELL_KNOWN] = f"moved to {moved}".encode()
        with pytest.raises(InvalidInputError, match="https"):
            fetch_keys(address, path)
    for insecure in ("http://issuer.example", "file:///etc/passwd", "ftp://x"):
        with pytest.raises(InvalidInputError, match="https"):
            fetch_keys(insecure, path)


def test_keys_are_fetched_for_ever_whatever_an_attempt_meets(
    issuer: tuple[str, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An issuer that answers with something else for a while, and a folder that cannot be written."""
    address, answers = issuer
    keys, path = answers["/keys"], tmp_path / "keys" / "keys.json"
    path.parent.write_text("in the place of the folder")
    answers["/keys"] = b"-----BEGIN CERTIFICATE-----"

    def repair(_: float) -> None:
        if path.exists():
            raise KeyboardInterrupt
        if answers["/keys"] == keys:
            path.parent.unlink()
        answers["/keys"] = keys

    monkeypatch.setattr("time.sleep", repair)
    with pytest.raises(KeyboardInterrupt):
        jwks_command(address, path, every=1.0)
    assert path.read_bytes() == keys
