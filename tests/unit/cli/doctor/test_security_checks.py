"""What `helix doctor` says of the folder that `helix security` made."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from helix_cli.doctor.finding import Finding
from helix_cli.doctor.security_checks import security_checks
from helix_cli.security import setup
from helix_cli.security.certificates import AUTHORITY_DAYS, DAYS, new_authority, new_certificate
from helix_cli.security.folder import SecurityFolder
from helix_cli.security.users import User
from helix_shared.errors import PermanentError

NAMES = ["localhost"]


@pytest.fixture
def folder(tmp_path: Path) -> SecurityFolder:
    """A folder with a publisher of acme."""
    made = SecurityFolder(tmp_path / "security")
    setup.init(made, tenants={"acme": ["write"]})
    return made


def wrong(folder: SecurityFolder, *, days: int = 0) -> list[Finding]:
    """Warnings and problems, `days` from now; each explains itself and says what to do."""
    found = [
        one
        for one in security_checks(folder, now=datetime.now(UTC) + timedelta(days=days))
        if one.level in {"warning", "problem"}
    ]
    assert all(one.means and one.advice for one in found)
    return found


def test_a_folder_as_it_was_made_is_sound(folder: SecurityFolder) -> None:
    """The control of all tests below; so is one whose secrets were renewed."""
    assert [one.level for one in security_checks(folder)] == ["ok"]
    setup.begin_rotation(folder)
    setup.end_rotation(folder)
    setup.renew_tenant(folder, "acme", end_older=True)
    assert [one.level for one in security_checks(folder)] == ["ok"]


def test_of_a_home_without_security_it_is_said_what_that_means(tmp_path: Path) -> None:
    """It may be meant so; the lock that a refused `init` leaves is no security."""
    folder = SecurityFolder(tmp_path / "security")
    said = [(one.level, one.found.partition(":")[0]) for one in security_checks(folder)]
    assert said == [("ok", "no authentication")]
    with folder.locked():
        pass
    assert [one.level for one in security_checks(folder)] == ["ok"]


def _other_authority(folder: SecurityFolder) -> None:
    certificate, key = new_authority()
    folder.ca.write_bytes(certificate)
    (folder.root / "ca.key").write_bytes(key)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda f: f.state.unlink(), "is empty; run `helix security init`"),
        (lambda f: f.state.write_text("{"), "state.json is damaged"),
        (lambda f: f.key.unlink(), "server.key is missing"),
        (lambda f: f.ca.unlink(), "ca.pem is missing"),
        (lambda f: (f.root / "ca.key").unlink(), "ca.key is missing"),
        (lambda f: f.tokens.unlink(), "tokens.json is missing"),
        (lambda f: f.nats_file("ingest").unlink(), "nats/ingest is missing"),
        (lambda f: f.key.chmod(0o640), "server.key has mode 640"),
        (lambda f: f.nats_file("tenant-acme").chmod(0o604), "nats/tenant-acme has mode 604"),
        (lambda f: f.root.chmod(0o755), "security has mode 755"),
        (lambda f: f.certificate.write_text("no"), "server.pem is no certificate in PEM form"),
        (lambda f: f.key.write_bytes(new_authority()[1]), "server.key is not the key of"),
        (lambda f: f.key.write_text("no"), "server.key: key: is no private key"),
        (lambda f: (f.root / "ca.key").write_bytes(new_authority()[1]), "ca.key is not the key of"),
        (_other_authority, "server.pem is not signed by"),
        (lambda f: f.nats_file("kg").write_text("kg.1:wrong\n"), "does not know the secrets in.*: kg$"),
        (lambda f: f.nats_file("kg").write_text("kg.1:" + "x" * 100), "does not know the secrets in.*: kg$"),
        (lambda f: f.token_file("operator").write_text("other\n"), "not have the tokens of: operator$"),
        (lambda f: f.tokens.write_text('{"tokens": 1}'), "tokens.json: tokens: must be a list"),
    ],
)
def test_damage_is_named_alone(
    folder: SecurityFolder, damage: Callable[[SecurityFolder], object], said: str
) -> None:
    """One finding for one cause, with the file."""
    damage(folder)
    [found] = wrong(folder)
    assert re.search(said, found.found)


@pytest.mark.parametrize(
    ("days", "level", "said"),
    [
        (-1, "problem", "is valid from"),
        (DAYS - 31, "", ""),
        (DAYS - 20, "warning", "server.pem ends on"),
        (DAYS + 1, "problem", "server.pem expired on"),
    ],
)
def test_the_time_of_a_certificate_is_told(folder: SecurityFolder, days: int, level: str, said: str) -> None:
    """A month before it ends, and where the clock is wrong."""
    found = wrong(folder, days=days)
    assert {one.level for one in found} == ({level} if level else set())
    assert all(said in one.found for one in found)


def test_a_file_that_this_user_cannot_read_is_one_problem(
    folder: SecurityFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks end without a traceback."""

    def denied(*_: object) -> bool:
        raise PermissionError(13, "Permission denied", "/home/security/nats/kg")

    monkeypatch.setattr(User, "has_secret", denied)
    [found] = wrong(folder)
    assert found.found == "/home/security/nats/kg cannot be read: Permission denied"


def test_an_authority_ends_as_well(folder: SecurityFolder) -> None:
    """Later than the certificates that it signs."""
    assert "ca.pem ends on" in " ".join(one.found for one in wrong(folder, days=AUTHORITY_DAYS - 5))


def test_given_files_may_have_a_chain_and_no_key_of_the_authority(tmp_path: Path) -> None:
    """They are not renewed by a rotation, so the advice is another one."""
    authority, chain, key = (tmp_path / name for name in ("ca.pem", "chain.pem", "own.key"))
    made = new_authority()
    certificate, secret = new_certificate(made, NAMES, now=datetime.now(UTC) - timedelta(days=DAYS - 3))
    authority.write_bytes(new_authority()[0] + made[0])
    chain.write_bytes(certificate + new_authority()[0])
    key.write_bytes(secret)
    folder = SecurityFolder(tmp_path / "security")
    setup.init(folder, tenants={}, given=(chain, key, authority))
    [found] = wrong(folder)
    assert found.level == "warning"
    assert "in 2 days" in found.found
    assert found.advice.startswith("put new files at")


@pytest.mark.parametrize("name", ["server.pem", "server.key"])
@pytest.mark.parametrize("is_there", [False, True])
def test_what_the_advice_says_repairs_a_certificate_or_key(
    folder: SecurityFolder, name: str, *, is_there: bool
) -> None:
    """`helix security rotate` while nothing runs, and the next `helix up`, begin with `recover`."""
    path = folder.root / name
    path.unlink()
    if is_there:
        path.write_bytes(b"half of a file")
        path.chmod(0o600)
    advised = [one for one in wrong(folder) if name in one.found]
    assert advised
    assert all("`helix security rotate`" in one.advice for one in advised)
    setup.recover(folder)
    assert [one.level for one in security_checks(folder)] == ["ok"]


def test_a_rotation_without_the_key_of_the_authority_changes_nothing(folder: SecurityFolder) -> None:
    """Its error names the file."""
    (folder.root / "ca.key").unlink()
    before = folder.nats_file("ingest").read_bytes()
    with pytest.raises(PermanentError, match=r"ca\.key cannot be read"):
        setup.begin_rotation(folder)
    assert folder.nats_file("ingest").read_bytes() == before
