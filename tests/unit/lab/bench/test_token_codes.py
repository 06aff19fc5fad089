"""Section `codes` of the bench: the same comparisons with pages in memory and without."""

from __future__ import annotations

from pathlib import Path

from helix_lab.bench.reading.token_codes import codes_lines, codes_section
from helix_shared.edges import TOKEN_CODE_BYTES

MEMORIES = 20_000


def test_both_states_of_the_pages_are_measured(tmp_path: Path) -> None:
    """Only the second one reads the disk, which is what tells the two apart; nothing remains."""
    home = tmp_path / "a home where the lab did nothing before"
    found = codes_section(home, MEMORIES, seed=3, queries=10)["token_codes"]
    assert found["megabytes"] == round(MEMORIES * 40 * TOKEN_CODE_BYTES / 1e6)
    for state in ("warm", "cold"):
        assert 0 < found[state]["ms"]["p50"] <= found[state]["ms"]["p95"]
        assert found[state]["processor_ms"]["p50"] > 0
    assert found["warm"]["disk_pages"] < 1 < found["cold"]["disk_pages"]
    assert not list(home.iterdir())
    lines = codes_lines({"token_codes": found})
    assert [line.split(",")[1] for line in lines[:2]] == [
        f" pages {state}: {found[state]['ms']['p50']} ms at p50" for state in ("warm", "cold")
    ]
    assert "cold over warm" in lines[2]
    assert codes_lines({}) == []
