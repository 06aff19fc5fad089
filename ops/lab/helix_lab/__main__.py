"""`helix-lab`: how good recall is and how fast, on the development sets or on the user's own data."""

from __future__ import annotations

from helix_shared.machine.processes import use_one_blas_thread


def main() -> None:
    """Run the command, with as many threads as a service: times in this process are compared with its."""
    use_one_blas_thread()
    from helix_lab.commands import run  # noqa: PLC0415 - numpy reads the environment on import

    run()


if __name__ == "__main__":
    main()
