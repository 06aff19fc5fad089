"""Names of entities as people write them, from the latest memories that the caller could recall."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

ADA = {"tenant_id": "acme", "user_id": "ada"}
BOB = {"tenant_id": "acme", "user_id": "bob"}
BOTH = {"marta delgado": "Marta Delgado", "sao paulo": "São Paulo", "cartstore": "CartStore"}


def said(text: str, *entities: str, owner: str = "", **fields: Any) -> dict[str, Any]:
    """A memory of everybody, or of one user."""
    return {"text": text, "owner": owner, "user_id": owner, "entities": entities, **fields}


def rows() -> list[dict[str, Any]]:
    """What was said, in the order of the log."""
    return [
        said("We meet Marta Delgado in S\u00e3o Paulo.", "marta delgado", "sao paulo"),
        said("Marta Delgado owns CartStore.", "marta delgado", "cartstore"),
        said("marta delgado is away, sao paulo too", "marta delgado", "sao paulo"),
        *(said(f"MARTA\nDELGADO, number {n}", "marta delgado", owner="bob") for n in range(3)),
        *(said(f"the cartStore, number {n}", "cartstore", hidden=True) for n in range(9)),
        said("status: 503 on 2026-12-05", "http 503", owner="ada"),
        said("I am off to Ghent.", "zoe", speaker="Zo\u00eb", owner="ada"),
        said("ghent again", "ghent", title="The rain of GHENT", owner="ada"),
        # six times: what was written five memories ago counts no more
        *(said(f"OSLO in year {n}", "oslo", owner="ada") for n in range(3)),
        *(said(f"Oslo in year {n}", "oslo", owner="ada") for n in range(10, 13)),
    ]


@pytest.fixture(scope="module")
def service(told: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service that was told of the memories in the order of the log."""
    with told(tmp_path_factory.mktemp("names"), rows()) as stub:
        yield stub


def names(service: Any, scope: dict[str, Any]) -> dict[str, str]:
    """Display names by canonical name."""
    request = recall_pb2.ListEntitiesRequest(scope=scope, page_size=200)
    return {one.name: one.display_name for one in service.ListEntities(request, timeout=10).entities}


def test_the_form_is_that_of_most_of_the_latest_memories(service: Any) -> None:
    """Of two as frequent ones, the one with capitals and accents; also that of a title or a speaker."""
    assert names(service, ADA) == BOTH | {
        "http 503": "http 503",
        "zoe": "Zoë",
        "ghent": "ghent",
        "oslo": "Oslo",
    }


def test_memories_of_others_and_forgotten_ones_have_no_part_in_it(service: Any) -> None:
    """Bob writes capitals: nobody else sees them."""
    assert names(service, BOB) == BOTH | {"marta delgado": "MARTA DELGADO"}
    assert names(service, {"tenant_id": "acme"}) == BOTH
    assert names(service, {"tenant_id": "other"}) == {}


def test_the_graph_and_a_memory_have_the_same_form(service: Any) -> None:
    """Beside the canonical name, which stays the key."""
    near = service.Neighbours(recall_pb2.NeighboursRequest(scope=ADA, entity="MARTA DELGADO", hops=2))
    shown = {one.entity: one.display_name for one in near.nodes if one.entity}
    assert near.nodes[0].entity == "marta delgado"
    assert shown == BOTH
    assert {one.display_name for one in near.nodes if not one.entity} == {""}
    [listed] = [one.memory for one in near.nodes if one.memory.text.startswith("marta delgado is away")]
    got = service.GetMemory(recall_pb2.GetMemoryRequest(scope=ADA, memory_id=listed.memory_id)).memory
    by_name = dict(zip(got.entities, got.entity_display_names, strict=True))
    assert by_name == {one: BOTH[one] for one in ("marta delgado", "sao paulo")}
    assert list(listed.entity_display_names) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_a_writer_that_is_told_in_another_order_gives_the_same_forms(
    seed: int, told: Any, tmp_path: Path, service: Any
) -> None:
    """As a rebuild is: the position in the log counts, not the ordinal."""
    written = [row | {"stream_sequence": number} for number, row in enumerate(rows(), 1)]
    random.Random(seed).shuffle(written)
    with told(tmp_path, written) as other:
        for scope in (ADA, BOB):
            assert names(other, scope) == names(service, scope)
