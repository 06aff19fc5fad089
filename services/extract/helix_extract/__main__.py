"""Start the worker: `python -m helix_extract`. Several may run at once."""

from __future__ import annotations

from helix_extract.app import create_app
from helix_shared.broker.worker.worker import run


def main() -> None:
    """Run until SIGTERM; exits with 78 when a setting is wrong."""
    run(create_app)


if __name__ == "__main__":
    main()
