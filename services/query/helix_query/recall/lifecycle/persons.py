"""Stage 6: which candidates state values of another person than the one that a question asks about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helix_shared.about import AUTHOR, BY_NAME, OF_AUTHOR, kinds_of, persons_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import AskedPerson


def about_others(codes: NDArray[np.int64], asked: AskedPerson | None) -> NDArray[np.bool_]:
    """Whether each memory, by its `about_code`, is surely about somebody else than the one `asked`.

    A relative may be known by name, and a name may be that of an author whose turns give none; these are not
    sure.
    """
    if asked is None:
        return np.zeros(len(codes), bool)
    kinds, persons = kinds_of(codes), persons_of(codes)
    is_same = persons == asked.code
    if asked.kind == AUTHOR:
        others = (kinds == BY_NAME) | (kinds == OF_AUTHOR)
    elif asked.kind == BY_NAME:
        others = ((kinds == AUTHOR) | (kinds == BY_NAME)) & (persons != 0) & ~is_same
    else:
        others = ((kinds == AUTHOR) & (persons == 0)) | ((kinds == OF_AUTHOR) & (persons != 0) & ~is_same)
    found: NDArray[np.bool_] = others
    return found
