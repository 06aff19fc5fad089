"""`--tz`, and the zone of this machine where it is not given."""

from pathlib import Path

import pytest

from helix_cli.asking import request_of
from helix_cli.zone import machine_zone


def test_the_option_names_the_zone_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option goes before the machine's zone."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert request_of("today?", tenant="acme", tz="Europe/Berlin").time_zone == "Europe/Berlin"
    assert request_of("today?", tenant="acme").time_zone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("variable", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("XYZ-1ABC,M3.5.0,M10.5.0/3", ""),
        ("Europe", ""),
        ("../../etc/passwd", ""),
        ("", ""),
        (":", ""),
        ("/nowhere/at/all", ""),
        ("LINK", "Europe/Berlin"),
        (":LINK", "Europe/Berlin"),
        ("localtime", "Europe/Berlin"),
        (":localtime", "Europe/Berlin"),
        ("posix/Europe/Berlin", "Europe/Berlin"),
        ("right/Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/right/Europe/Berlin", "Europe/Berlin"),
        ("Factory", ""),
        ("posixrules", ""),
        ("EST5EDT", "EST5EDT"),
    ],
)
def test_the_variable_tz_names_the_machines_zone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, zone: str
) -> None:
    """Empty is UTC; what is no name that every database holds is left out. Local time is of Berlin."""
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    monkeypatch.setenv("TZ", variable.replace("LINK", str(link)))
    assert machine_zone(link) == zone


def test_without_the_variable_the_link_of_the_local_time_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A link into the database names the zone; a copy of a file, or nothing, does not."""
    monkeypatch.delenv("TZ", raising=False)
    file = tmp_path / "zoneinfo" / "Europe" / "Berlin"
    file.parent.mkdir(parents=True)
    file.touch()
    link = tmp_path / "localtime"
    assert machine_zone(link) == ""
    link.symlink_to(file)
    assert machine_zone(link) == "Europe/Berlin"
    assert machine_zone(file.rename(tmp_path / "copied")) == ""
