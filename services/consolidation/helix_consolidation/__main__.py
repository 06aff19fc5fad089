"""`python -m helix_consolidation`: the writer; additional processes stand by until it ends."""

from __future__ import annotations

import os

from helix_shared.machine.processes import (
    map_large_blocks,
    pause_garbage_collection,
    use_few_arenas,
    use_one_blas_thread,
)


def main() -> None:
    """Run until SIGTERM."""
    # LanceDB would write unstructured warnings to the log
    os.environ.setdefault("RUST_LOG", "error")
    # a pool of its own keeps what other threads have freed
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    pause_garbage_collection()
    use_one_blas_thread()
    use_few_arenas()
    map_large_blocks()
    from helix_consolidation.app import create_app  # noqa: PLC0415 - numpy reads the environment on import
    from helix_shared.broker.worker.worker import run  # noqa: PLC0415 - as above

    run(create_app)


if __name__ == "__main__":
    main()
