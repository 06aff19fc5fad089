from datetime import UTC, datetime

from helix_query.recall.routing.strip_times import strip_times

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_the_time_a_question_names_is_not_what_it_is_about() -> None:
    """Memories need not say "October"."""
    assert strip_times("Which port did we use in October 2023?", NOW).split() == [
        "Which", "port", "did", "we", "use", "in", "?",
    ]  # fmt: skip
    assert strip_times("October 2023", NOW) == "October 2023"
