"""The security folder as a stack takes it over while it runs."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from helix_cli.home.folder import HomeFolder
from helix_cli.security import setup
from helix_cli.security.folder import SecurityFolder
from helix_cli.security.users import read_state
from helix_cli.stack.children import NatsChild
from helix_cli.stack.secured import Secured


class Nats:
    """A server that notes which users it has read, and then waits for what a test does."""

    def __init__(self, folder: SecurityFolder, afterwards: Callable[[int], None]) -> None:
        self.users: list[set[str]] = []
        self._folder, self._afterwards = folder, afterwards

    def reload(self) -> None:
        """Read the users again."""
        self.users.append(set(read_state(self._folder).users))
        self._afterwards(len(self.users))


def test_a_publisher_that_is_added_while_a_rotation_ends_is_taken_over(tmp_path: Path) -> None:
    """NATS has read its users when the command writes the next one."""
    home = HomeFolder.at(tmp_path)
    folder = SecurityFolder.of(home.root)
    setup.init(folder, tenants={})

    def add(times_read: int) -> None:
        if times_read == 2:
            setup.init(folder, tenants={"acme": ["write"]})

    secured, nats = Secured(home, say=lambda _: None), Nats(folder, add)
    secured.start()
    secured._nats = cast("NatsChild", nats)
    setup.begin_rotation(folder)
    for _ in range(2):
        secured.look(restart=lambda: None)
    assert ["tenant-acme" in users for users in nats.users] == [False, False, True]
    secured.look(restart=lambda: None)
    assert len(nats.users) == 3, "nothing has changed"
