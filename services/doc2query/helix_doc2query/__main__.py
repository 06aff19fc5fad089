"""Start doc2query: `python -m helix_doc2query`."""

from __future__ import annotations

from helix_doc2query.app import create_app
from helix_shared.broker.worker.worker import run


def main() -> None:
    """Run until SIGTERM; exits with 78 when a setting is wrong."""
    run(create_app)


if __name__ == "__main__":
    main()
