"""`python -m helix_query`: serve recalls until SIGTERM or SIGINT.

Exit code 78: a setting or ranking profile is wrong. Exit code 1: the start failed and may work later, or too
many threads are stuck.
"""

from __future__ import annotations

import os
import sys

from helix_shared.machine.processes import pause_garbage_collection, use_one_blas_thread


def main() -> None:
    """Run the service."""
    pause_garbage_collection()
    use_one_blas_thread()
    # LanceDB would write plain text into the structured log.
    os.environ.setdefault("RUST_LOG", "error")
    from helix_query.app import create_app  # noqa: PLC0415 - numpy reads the variables on import
    from helix_shared.rpc.entry import run_service  # noqa: PLC0415 - as above

    end = run_service(create_app)
    if end.stuck:
        # native code in a running thread may crash the interpreter during its shutdown
        sys.stderr.flush()
        os._exit(end.code)
    sys.exit(end.code)


if __name__ == "__main__":
    main()
