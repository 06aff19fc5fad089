"""`python -m helix_deep`: serve deep recalls until SIGTERM or SIGINT.

Exit code 78: a setting is wrong. Exit code 1: the start failed and may work later.
"""

from __future__ import annotations

from helix_shared.machine.processes import pause_garbage_collection


def main() -> None:
    """Run the service."""
    pause_garbage_collection()
    from helix_deep.app import create_app  # noqa: PLC0415 - imports take most of the start
    from helix_shared.rpc.entry import run_service  # noqa: PLC0415 - as above

    run_service(create_app)


if __name__ == "__main__":
    main()
