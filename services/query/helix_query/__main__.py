"""`python -m helix_query`: answer recalls until told to stop.

Exit code 78 means a wrong setting or ranking profile, 1 a start that may work later or too many
stuck threads.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Final

SINGLE_THREADED: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Run the service."""
    # Small products gain nothing from BLAS threads, and their spinning doubles the tail latency.
    for variable in SINGLE_THREADED:
        os.environ.setdefault(variable, "1")
    # LanceDB writes plain warnings beside our structured log.
    os.environ.setdefault("RUST_LOG", "error")
    from helix_query.app import create_app  # noqa: PLC0415 - numpy reads the variables when imported
    from helix_shared.errors import InvalidInputError, TemporaryError  # noqa: PLC0415 - as above
    from helix_shared.settings import CONFIG_ERROR_EXIT  # noqa: PLC0415 - as above

    try:
        end = asyncio.run(create_app().run())
    except InvalidInputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(CONFIG_ERROR_EXIT)
    except TemporaryError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(1)
    if end.stuck:
        # native code in a thread that still runs may crash an interpreter that is taken down around it
        sys.stderr.flush()
        os._exit(end.code)
    sys.exit(end.code)


if __name__ == "__main__":
    main()
