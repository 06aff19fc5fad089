"""How a stack calls its own services."""

from pathlib import Path

import pytest

from helix_cli.home.folder import HomeFolder
from helix_cli.security import setup
from helix_cli.security.folder import SecurityFolder
from helix_cli.stack.secured import Secured


def test_a_stack_shows_its_services_the_certificate_that_commands_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With mTLS it would never find them ready; token and CA stay those of the home."""
    folder = SecurityFolder.of(tmp_path)
    setup.init(folder, tenants={})
    for name, path in (("HELIX_TLS_CERT", folder.certificate), ("HELIX_TLS_KEY", folder.key)):
        monkeypatch.setenv(name, str(path))
    secured = Secured(HomeFolder.at(tmp_path), say=lambda _: None)
    secured.start()
    calls = secured.calls
    assert calls is not None
    assert (calls.cert_file, calls.key_file) == (folder.certificate, folder.key)
    assert (calls.ca_file, calls.token_file) == (folder.ca, folder.token_file("operator"))
