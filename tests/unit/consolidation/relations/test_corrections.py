"""Corrections that name the wrong value: what they close, what they only link, what they leave alone."""

from __future__ import annotations

import pytest

from helix_consolidation.relations.corrections import (
    MIN_ANNOUNCED_PROBABILITY,
    MIN_CORRECTED_PROBABILITY,
    correction_of,
)
from tests.unit.consolidation.relations.test_decide import DAY, decided, said
from tests.unit.linear_time import Linear, Shape, repeated


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The gate code is 4471", "Correction: the gate code is 4417, not 4471"),
        ("The choir rehearsal is on Tuesday", "Oops, choir rehearsal is on Thursday, not Tuesday"),
        ("The new vet is called Maria", "Correction: the new vet is called Marta, not Maria"),
        (
            "The invoice to Brandt was 1,200 euros",
            "my mistake, the Brandt invoice was 1,400 euros, not 1,200",
        ),
        ("My locker code is Q4418", "Sorry, my locker code is Q4481, not Q4418"),
        ("The deploy is on Friday", "Actually the deploy is not on Friday, it's on Monday"),
        ("Pickup is at 9:30", "I said pickup was 9:30, it's 8:30"),
        (
            "We ordered oak boards for the kitchen",
            "Correction: we ordered walnut boards for the kitchen, not oak",
        ),
    ],
)
def test_a_correction_closes_what_holds_the_wrong_value(older: str, newer: str) -> None:
    """Also another speaker's, as the correction names the value."""
    for speaker in ("", "Jonas"):
        found = decided(
            said(newer, speaker=speaker, session=2), said(older, speaker="", session=2), cosine=0.3
        )
        assert (found[0].relation, found[0].closes) == ("UPDATES", True)
        assert found[0].probability >= MIN_CORRECTED_PROBABILITY


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Let's meet on Tuesday at the Greek place", "I meant Thursday, not Tuesday"),
        ("The cake is for Dan's birthday, 14 March", "Sorry, Dan's birthday is 15 March, not 14 March"),
        ("Flight LH 402 leaves at 14:10 from gate B7", "Sorry, flight LH 402 leaves at 15:10, not 14:10"),
        (
            "Booked the ferry to Hull for 12 September, booking reference QX7-4418",
            "Sorry, the reference is QX7-4481, not QX7-4418",
        ),
        ("Our flight is LX-418 to Oslo", "Sorry, the flight is LX-481, not LX-418"),
        ("Scan on 3 May with Dr Hale, second floor", "Wait, the scan is not on 3 May but on 5 May"),
    ],
)
def test_a_correction_that_repeats_less_only_links(older: str, newer: str) -> None:
    """The older statement says more than the wrong value."""
    found = decided(said(newer, session=2), said(older, session=2), cosine=0.3)
    assert (found[0].relation, found[0].closes) == ("UPDATES", False)
    assert found[0].probability >= MIN_CORRECTED_PROBABILITY


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My brother's birthday is 4 June", "No, my sister's birthday is 14 June, not 4 June"),
        ("My parcel is at locker Q4418", "Sorry, the flight to Oslo is Q4481, not Q4418"),
        ("Train tickets cost 8 euros", "Sorry, the train leaves at 9, not 8"),
        ("The gate code is 4417", "Correction: the gate code is 4417, not 4471"),
        ("Is the gate code 4471?", "Correction: the gate code is 4417, not 4471"),
        ("Tom likes blue", "Actually he bought the green bike, not the blue"),
        ("The gate code is 4471", "If I ever forget: I said the gate code is 4471, it's 4471"),
    ],
)
def test_another_thing_or_no_other_value_is_not_corrected(older: str, newer: str) -> None:
    """Another person, another kind of number, the right value, a question."""
    found = decided(said(newer, session=2), said(older, session=2), cosine=0.3)
    assert all("names_wrong_value" not in one.evidence and not one.closes for one in found.values())


def test_a_notice_of_a_new_value_that_names_the_old_one_is_likely_to_replace_it() -> None:
    """Said by a partner, in words of its own."""
    older = said("The wedding is on 12 September at the town hall", speaker="Ines")
    new = said("The town hall is closed on the 12th. New date is 26 September.", 9, speaker="Jonas")
    found = decided(new, older, said("The town hall opens at 8", speaker="Ines"), cosine=0.4)
    assert (found[0].relation, found[0].closes) == ("UPDATES", False)
    assert found[0].probability >= MIN_ANNOUNCED_PROBABILITY
    assert 1 not in found or "names_new_value" not in found[1].evidence


def test_one_common_word_closes_only_soon_after() -> None:
    """Another deploy is on another Friday."""
    older, text = said("The deploy is on Friday", session=1), "Sorry, the deploy is on Monday, not Friday"
    assert decided(said(text, 2, session=2), older)[0].closes
    assert not decided(said(text, 30, session=2), older)[0].closes
    assert DAY == 86_400_000_000


@pytest.mark.parametrize(
    ("speaker", "older", "newer"),
    [
        ("Bob", "My train is at 10:00", "Actually my train is at 9:30, not 10:00"),
        ("Ann", "Her flight is at 10:00", "Actually my flight is at 9:30, not 10:00"),
        ("Ann", "The flight is at 10:00", "Actually Bob's flight is at 9:30, not 10:00"),
        ("Ann", "The flight is at 10:00", "Actually the Paris flight is at 9:30, not 10:00"),
        ("Ann", "The flight is at 10:00, seat 14", "Actually the flight is at 9:30, not 10:00"),
    ],
)
def test_a_correction_of_another_thing_closes_nothing(speaker: str, older: str, newer: str) -> None:
    """Another person's, a nearer named one, or one of which more is told."""
    found = decided(
        said(newer, speaker=speaker, session=2), said(older, speaker="Ann", session=2), cosine=0.9
    )
    assert not any(one.closes for one in found.values())


@pytest.mark.parametrize("text", ["I ordered tea, not coffee", "not bad, not good", "no", "I said so", ""])
def test_a_contrast_is_no_correction(text: str) -> None:
    """Without a word of correction, or without a value."""
    assert correction_of(text) is None


def test_hostile_text_is_read_in_linear_time(linear_beginnings: Linear) -> None:
    """Also where only the first characters are read."""
    texts = repeated("correction, not ", "i said ", "not ")
    texts += [Shape("words", "correction ", "a"), Shape("times", "oops ", " - not 1:1:1:1:1:1:1:1 ")]
    texts += [Shape("numbers", "sorry, not ", "10:00 10:30 1.1,1 ")]
    assert not linear_beginnings.failures(correction_of, texts=texts)
