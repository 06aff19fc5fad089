"""Generated memories refer to memories of their own session."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from helix_lab.bench.generate.edge_rows import EdgeSource, referred
from helix_lab.bench.generate.layout import Layout


def test_a_reference_of_the_base_becomes_one_within_the_session() -> None:
    """The second session has no question before its answer, so its answer refers to nothing."""
    rows = pa.table({"memory_id": ["q", "a"], "answers": ["", "q"]})
    base = np.array([0, 1, 1])
    layout = Layout(
        **{name: np.zeros(3, np.int64) for name in Layout.__slots__}
        | {"base": base, "session": np.array([0, 0, 1]), "tenants": ("bench",)}
    )
    source = EdgeSource(
        base=SimpleNamespace(rows=rows),  # type: ignore[arg-type]
        layout=layout,
        noise=None,  # type: ignore[arg-type]
        sequences=np.array([1, 2, 3]),
        pieces=np.zeros(3, np.int32),
        seed=7,
    )
    assert referred(source, slice(0, 3), "answers") == ["", source.id_of(0), ""]
    assert referred(source, slice(1, 3), "answers") == [source.id_of(0), ""]
