import numpy as np
import pytest

from helix_consolidation.relations.rules import says_more_than
from helix_consolidation.relations.statement import Statement
from helix_consolidation.relations.words.reading import read


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("The cleaner comes on Thursdays, her name is Marisol.", "The cleaner comes on Fridays now.", True),
        (
            "Amir owns the billing service, and Jon owns the search service.",
            "Jon leaves in May, Sofia takes over the search service.",
            True,
        ),
        ("Ivo weighs 21 kilos and his shoe size is 30.", "His shoe size is 31 now.", True),
        ("The rent is 700 euros.", "The rent went up to 750 euros.", False),
        ("We meet on Tuesdays. At nine.", "We meet on Wednesdays now, no longer on Tuesdays.", False),
        ("Temples and trains, in Japan.", "The temples and trains in Japan are off.", False),
    ],
)
def test_what_says_more_than_one_thing_stays_open(old: str, new: str, more: bool) -> None:
    """Unless the new statement is about each of them."""
    assert says_more_than(Statement(old, np.zeros(2, np.float32)), read(new)) is more
