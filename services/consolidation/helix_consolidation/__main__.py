"""`python -m helix_consolidation`: the writer; additional processes stand by until it ends."""

from __future__ import annotations

import os

from helix_consolidation.app import create_app
from helix_shared.broker.worker.worker import run


def main() -> None:
    """Run until SIGTERM."""
    # LanceDB would write unstructured warnings to the log
    os.environ.setdefault("RUST_LOG", "error")
    run(create_app)


if __name__ == "__main__":
    main()
