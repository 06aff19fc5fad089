from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from helix_query.generations.indexes.facet_index import STATIC
from helix_query.recall.user_profile.lines import Statement
from helix_query.recall.user_profile.links import Links
from helix_query.recall.user_profile.merge import merged

START = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = (
    "I love old maps",
    "I love old maps a lot",
    "I don't love old maps",
    "I live in Turku",
    "I hate rain",
)


def links(replaced: dict[int, float]) -> Links:
    """UPDATES links of memory 99 by the ordinal of the older memory."""
    return Links({(99, older): probability for older, probability in replaced.items()})


def no_place(_name: str) -> bool:
    """No name is known to be one."""
    return False


def statement(
    number: int, text: str, *, day: int = 0, score: float = 0.5, derived: bool = False
) -> Statement:
    """The statement of memory `number`, event `number // 2`."""
    return Statement(
        ordinal=number,
        memory_id=f"{number:032x}",
        sequence=number // 2,
        sentences=(text,),
        part=STATIC,
        facets=("preference",),
        speaker="",
        occurred_at=START + timedelta(days=day),
        is_derived=derived,
        score=score,
    )


STATEMENTS = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.integers(0, 3), st.sampled_from([0.1, 0.5])), max_size=8
)


@given(STATEMENTS, st.randoms(use_true_random=False), st.dictionaries(st.integers(0, 7), st.floats(0.1, 1)))
def test_a_profile_follows_from_the_set_of_statements(
    drawn: list[tuple[str, int, float]], random: object, replaced: dict[int, float]
) -> None:
    """Their order changes nothing, and every line cites each of its memories once."""
    all_ = [statement(n, text, day=day, score=score) for n, (text, day, score) in enumerate(drawn)]
    lines = merged(all_, links(replaced), no_place)
    shuffled = list(all_)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merged(shuffled, links(replaced), no_place) == lines
    cited = [memory_id for line in lines for memory_id in line.memory_ids]
    assert len(cited) == len(set(cited))
    gone = {f"{n:032x}" for n, probability in replaced.items() if probability >= 0.5}
    assert gone.isdisjoint(cited)


def test_a_resolved_statement_is_shown_and_both_memories_are_cited() -> None:
    """It names what the verbatim turn leaves out."""
    verbatim = statement(2, "I hate it since the storm")
    resolved = statement(3, "I hate sailing since the storm", derived=True)
    [line] = merged([verbatim, resolved], links({}), no_place)
    assert line.statement.text == "I hate sailing since the storm"
    assert line.memory_ids == (resolved.memory_id, verbatim.memory_id)


def test_an_uncertain_replacement_costs_score_only() -> None:
    """The older line stays, further down."""
    lines = merged([statement(0, "I live in Turku"), statement(2, "I hate rain")], links({0: 0.3}), no_place)
    assert [line.statement.text for line in lines] == ["I hate rain", "I live in Turku"]
    assert lines[1].statement.score < 0.5
