"""The interface of filters: each renders SQL for LanceDB, term clauses for the lexicon, masks for signals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, tzinfo

    import numpy as np
    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals


@dataclass(frozen=True, slots=True)
class TermSet:
    """Documents whose `field` of the lexicon holds one of `values`."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LackedTerm:
    """Documents whose `field` of the lexicon lacks one of `values`."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Documents whose number in `field` is at least `lower` and below `upper`; None: no bound."""

    field: str
    lower: int | None
    upper: int | None


class RequestedFilter(Protocol):
    """The filter message of a request, whose fields are checked when they are read."""

    def names(self, field: str) -> tuple[str, ...]:
        """Values of a repeated field, without duplicates."""

    def moment(self, field: str) -> datetime | None:
        """Value of a timestamp; None where the field is not set."""


class Filter(ABC):
    """One filter of a recall; immutable and hashable."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def requested(cls, request: RequestedFilter) -> Self | None:
        """The filter of a request; None where the request does not ask for it.

        Raises:
            InvalidInputError: a field breaks its limit.
        """

    @abstractmethod
    def sql(self) -> Iterable[str]:
        """Conditions on the columns of `record_schema`; all must hold."""

    @abstractmethod
    def clauses(self) -> Iterable[TermSet | LackedTerm | NumberRange]:
        """Conditions on the documents of the lexicon; all must hold."""

    @abstractmethod
    def mask(self, signals: Signals, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] pass, by their signals."""

    @abstractmethod
    def excluding(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Fields of the request that exclude a row of `record_schema`; empty where it passes."""

    @abstractmethod
    def shown(self, row: Mapping[str, Any], zone: tzinfo) -> str:
        """The value of a row that the filter compares, as text; times in `zone`."""


def check_names(field: str, values: Sequence[str]) -> None:
    """Refuse text that no store can hold.

    Raises:
        InvalidInputError: a value has a NUL or a lone surrogate.
    """
    text = "".join(values)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInputError(field, "must be text without NUL and lone surrogates")


def check_moment(field: str, moment: datetime | None) -> None:
    """Refuse a time without a zone.

    Raises:
        InvalidInputError: `moment` is naive.
    """
    if moment is not None and moment.utcoffset() is None:
        raise InvalidInputError(field, "must carry a time zone")
