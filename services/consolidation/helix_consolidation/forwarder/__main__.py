"""`python -m helix_consolidation.forwarder`: forward accesses until SIGTERM."""

from __future__ import annotations

from helix_shared.machine.processes import pause_garbage_collection


def main() -> None:
    """Run until SIGTERM."""
    pause_garbage_collection()
    from helix_consolidation.forwarder.app import create_app  # noqa: PLC0415 - imports take most of the start
    from helix_shared.broker.worker.worker import run  # noqa: PLC0415 - as above

    run(create_app)


if __name__ == "__main__":
    main()
