"""Memories of nearly the same wording: one is enough, unless they state other values."""

from pathlib import Path
from typing import Any

import pytest

from helix_query.generations.warmup import warm
from tests.integration.test_query.recall.asking import NOW, PROFILE, asked, opened

pytestmark = pytest.mark.integration

INVOICE = (
    "Hi team, the monthly invoice of Hetzner for the servers of the analytics project is {} euros, please "
    "approve it in the portal until Friday as always, thanks, Marta from accounting"
)
NOTICE = (
    "Notice to all tenants of the house: bicycles may {} be kept in the hallway of the ground floor, the "
    "cellar has room for them, and the caretaker gives a key to everybody who asks"
)


def test_the_same_wording_with_another_value_is_recalled_beside_it(
    tmp_path: Path, corpus_type: Any, encoder: Any
) -> None:
    """Two invoices, of which one came twice, and a rule with its opposite."""
    texts = [INVOICE.format(412), INVOICE.format(655), f"{INVOICE.format(655)} dept", NOTICE.format("now")]
    rows = [{"text": text} for text in [*texts, NOTICE.format("not")]]
    with opened(corpus_type, encoder, tmp_path, rows) as generation:
        served = warm(generation, encoder, profile=PROFILE, now=NOW)
        found = [one.row["text"] for one in asked(served, "Hetzner invoice for the analytics servers").rows]
        rules = [one.row["text"] for one in asked(served, "bicycles in the hallway").rows]
    assert INVOICE.format(412) in found
    assert len([text for text in found if "655" in text]) == 1
    assert {NOTICE.format("now"), NOTICE.format("not")} <= set(rules)
