"""Which restatements of a generation count."""

import numpy as np

from helix_shared.artifacts.relations.records import RELATION, DecidedRelation, EvidenceNames, encoded
from helix_shared.artifacts.relations.relation_files import RelationReader


def test_restatements_that_are_undone_retracted_or_a_return_do_not_count() -> None:
    """Rows are numbered over all segments; only restatements are there, by ascending newer memory."""
    names = EvidenceNames()
    decided = [
        DecidedRelation(9, 1, "DUPLICATE", 0.9, 0),
        DecidedRelation(4, 1, "UPDATES", 0.9, 0),
        DecidedRelation(5, 1, "DUPLICATE", 0.9, 0),
        DecidedRelation(6, 2, "DUPLICATE", 0.9, 0, revives=True),
        DecidedRelation(7, 3, "DUPLICATE", 0.9, 0),
        DecidedRelation(7, 3, "DUPLICATE", 0.0, 0),
        DecidedRelation(8, 3, "DUPLICATE", 0.9, 0),
    ]
    records = np.array([encoded(one, names) for one in decided], RELATION)
    reader = RelationReader([records[:4], records[4:]], names.names, np.array([2]))
    newer, older = reader.restatements
    assert (newer.tolist(), older.tolist()) == ([8, 9], [3, 1])
