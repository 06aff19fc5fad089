"""Start one ingest worker: `python -m helix_ingest`. Several may run at once."""

from __future__ import annotations

from helix_ingest.app import create_app
from helix_shared.broker.worker.worker import run


def main() -> None:
    """Run until SIGTERM."""
    run(create_app)


if __name__ == "__main__":
    main()
