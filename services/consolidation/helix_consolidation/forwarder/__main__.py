"""`python -m helix_consolidation.forwarder`: forward accesses until SIGTERM."""

from __future__ import annotations

from helix_consolidation.forwarder.app import create_app
from helix_shared.broker.worker.worker import run


def main() -> None:
    """Run until SIGTERM."""
    run(create_app)


if __name__ == "__main__":
    main()
