"""Composition of doc2query: the only place that reads the environment."""

from __future__ import annotations

from helix_doc2query.consumer import DERIVATION, SERVICE, AsksQuestions, with_model
from helix_doc2query.settings import Doc2querySettings
from helix_shared.broker.worker.derive import Derivation, create_deriving_worker
from helix_shared.broker.worker.worker import Worker
from helix_shared.errors import InvalidInputError


def create_app() -> Worker:
    """The application, wired but not connected.

    Raises:
        InvalidInputError: a setting is unknown or out of bounds, or the extra for a T5 model is missing.
        NotFoundError: the folder of the T5 model has no model.
    """
    settings = Doc2querySettings.load()
    return create_deriving_worker(derivation_of(settings), settings, service=SERVICE)


def derivation_of(settings: Doc2querySettings) -> Derivation:
    """What the worker derives with these settings.

    Raises: as `create_app`.
    """
    return DERIVATION if settings.model_dir is None else with_model(_model(settings))


def _model(settings: Doc2querySettings) -> AsksQuestions:
    """The T5 model of the settings."""
    try:
        from helix_doc2query.t5.question_model import (  # noqa: PLC0415  ONNX Runtime is an extra
            QuestionModel,
            Search,
        )
    except ImportError as error:
        raise InvalidInputError(
            "HELIX_DOC2QUERY_MODEL_DIR", f"needs helix-memory-doc2query[t5], {error.name} is not installed"
        ) from error
    assert settings.model_dir is not None  # noqa: S101  the caller checked it
    search = Search(
        settings.model_questions,
        settings.model_question_tokens,
        settings.model_text_tokens,
        settings.model_prefix,
    )
    return QuestionModel.load(settings.model_dir, search)
