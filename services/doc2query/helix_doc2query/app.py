"""Composition of doc2query: the only place that reads the environment."""

from __future__ import annotations

from helix_doc2query.consumer import DERIVATION, SERVICE
from helix_doc2query.settings import Doc2querySettings
from helix_shared.broker.worker.derive import create_deriving_worker
from helix_shared.broker.worker.worker import Worker


def create_app() -> Worker:
    """The application, wired but not connected.

    Raises:
        InvalidInputError: a setting is unknown or out of bounds.
    """
    return create_deriving_worker(DERIVATION, Doc2querySettings.load(), service=SERVICE)
