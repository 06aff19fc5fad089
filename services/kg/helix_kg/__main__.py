"""Start kg: `python -m helix_kg`."""

from __future__ import annotations

from helix_shared.machine.processes import pause_garbage_collection


def main() -> None:
    """Run until SIGTERM; exits with 78 when a setting is wrong."""
    pause_garbage_collection()
    from helix_kg.app import create_app  # noqa: PLC0415 - imports take most of the start
    from helix_shared.broker.worker.worker import run  # noqa: PLC0415 - as above

    run(create_app)


if __name__ == "__main__":
    main()
