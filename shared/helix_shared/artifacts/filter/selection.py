"""The selection of a recall: what a caller may see and asked for.

A selection is a value, never text. Each reader takes the form it needs: LanceDB `sql`, the lexicon the
`access` and the `clauses` of the filters, the query service `among` over the signals.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

from helix_shared.artifacts.filter.access import Access
from helix_shared.artifacts.filter.filter import Filter, check_moment, check_names
from helix_shared.artifacts.filter.past_moment import PastMoment
from helix_shared.audience import EVERYONE
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals

_REPLACED: Final = "(hidden = false OR (superseded_by != '' AND deleted_at IS NULL))"


@dataclass(frozen=True, slots=True)
class Selection:
    """The caller, the filters of the request, each class at most once, and a past moment.

    A caller sees a memory whose owner is empty or `user_id` and whose access list holds `EVERYONE` or one of
    `principals`. With `as_of`, only memories that were created by that moment are selected; with
    `valid_at`, those that had occurred by then. `Versions` tells which of the hidden ones were current.

    Raises:
        InvalidInputError: no tenant, a value that no store can hold, or a time without a zone.
    """

    tenant_id: str
    user_id: str = ""
    principals: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    as_of: datetime | None = None
    valid_at: datetime | None = None
    with_replaced: bool = False
    """Whether memories that nothing but a later memory hides are selected, too; of no past moment."""
    past: PastMoment = field(init=False, compare=False, repr=False)
    """The past moment; false where the request names none."""
    access: Access = field(init=False, compare=False, repr=False)
    """What the caller may see."""

    def __post_init__(self) -> None:
        if not self.tenant_id:
            raise InvalidInputError("tenant_id", "must not be empty")
        check_names("tenant_id", (self.tenant_id,))
        check_names("user_id", (self.user_id,))
        check_names("principals", self.principals)
        check_moment("as_of", self.as_of)
        check_moment("valid_at", self.valid_at)
        owners = ("", self.user_id) if self.user_id else ("",)
        access = Access(self.tenant_id, owners, tuple(dict.fromkeys((EVERYONE, *self.principals))))
        # every row of an answer is compared with both
        object.__setattr__(self, "past", PastMoment(self.as_of, self.valid_at))
        object.__setattr__(self, "access", access)

    def unfiltered(self) -> Self:
        """The same caller and moment without filters."""
        return replace(self, filters=())

    def without(self, kind: type[Filter]) -> Self:
        """The selection without the filter of one class."""
        return replace(self, filters=tuple(one for one in self.filters if not isinstance(one, kind)))

    def sql(self) -> str:
        """The condition on the rows of the vector table; the tenant comes last, outside the parentheses.

        Hidden rows are left out; of a past moment, only forgotten ones are. `with_replaced` keeps a few rows
        too many, which `Signals.replaced_at` tells.
        """
        existing = self.past.sql() if self.past else (_REPLACED if self.with_replaced else "hidden = false",)
        filters = (condition for one in self.filters for condition in one.sql())
        return f"({' AND '.join([*existing, *self.access.sql(), *filters])}) AND ({self.access.tenant_sql()})"

    def restrict(
        self,
        signals: Signals,
        ordinals: NDArray[np.int64],
        visible: NDArray[np.bool_],
        checked_lists: dict[int, bool] | None = None,
    ) -> NDArray[np.bool_]:
        """`visible` [n] without those of `ordinals` [n] that are not selected; changed in place.

        Says nothing about hidden memories and a past moment: the caller passes those in `visible`.
        `checked_lists` as in `Access.restrict`.
        """
        for one in self.filters:
            visible &= one.mask(signals, ordinals)
        return self.access.restrict(signals, ordinals, visible, checked_lists)

    def admits(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of `record_schema` (Python values) is selected, hidden or not."""
        return self.past.admits(row) and self.access.admits(row) and not self.excluding(row)

    def excluding(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Fields of the request's filters that exclude a row, in the order of the filters."""
        return tuple(field for one in self.filters for field in one.excluding(row))
