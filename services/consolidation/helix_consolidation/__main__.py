"""`python -m helix_consolidation`: the writer; further copies stand by until it is gone."""

from __future__ import annotations

import os

from helix_consolidation.app import create_app
from helix_shared.broker.worker.worker import run


def main() -> None:
    """Run until SIGTERM."""
    # LanceDB writes plain warnings beside our structured log
    os.environ.setdefault("RUST_LOG", "error")
    run(create_app)


if __name__ == "__main__":
    main()
