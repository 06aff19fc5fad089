"""Start one ingest worker: `python -m helix_ingest`. Several may run at once."""

from __future__ import annotations

from helix_shared.machine.processes import pause_garbage_collection, use_one_blas_thread


def main() -> None:
    """Run until SIGTERM."""
    pause_garbage_collection()
    use_one_blas_thread()
    from helix_ingest.app import create_app  # noqa: PLC0415 - numpy reads the environment on import
    from helix_shared.broker.worker.worker import run  # noqa: PLC0415 - as above

    run(create_app)


if __name__ == "__main__":
    main()
