"""`python -m helix_gateway`: serve REST and MCP until SIGTERM or SIGINT.

Exit code 78: a setting is wrong. Exit code 1: the start failed and may work later.
"""

from __future__ import annotations

import asyncio
import sys

from helix_gateway.app import create_app
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.settings import CONFIG_ERROR_EXIT


def main() -> None:
    """Run the service."""
    try:
        asyncio.run(create_app().run())
    except InvalidInputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(CONFIG_ERROR_EXIT)
    except TemporaryError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
