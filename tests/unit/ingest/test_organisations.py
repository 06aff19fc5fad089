"""An organisation is what "they" means only where nothing else fits."""

import pytest

from helix_ingest.extraction.persons.organisations import with_organisation
from helix_ingest.extraction.persons.pronouns import Turn

RESOLVED = [
    (["I applied at Airbus."], "They called back today!", "Airbus called back today!"),
    (["Had my interview at Siemens this morning"], "they offered me the job", "Siemens offered me the job"),
    (["I applied to Zalando last week", "fingers crossed"], "They rejected me", "Zalando rejected me"),
    (["I ordered a lamp from Ikea"], "they finally shipped it", "Ikea finally shipped it"),
    (["I have an account with N26"], "they charged me twice", "N26 charged me twice"),
    (["I ordered the sofa from Made"], "They've cancelled the order", "Made have cancelled the order"),
    (["I have a job offer from Bosch"], "they want me to start in May", "Bosch want me to start in May"),
    (
        ["Still waiting for the offer from Klarna."],
        "They said that HR is slow",
        "Klarna said that HR is slow",
    ),
    (["I signed up with Allianz"], "they need my old policy number", "Allianz need my old policy number"),
    (
        ["I interviewed at Spotify", "it went okay"],
        "They're hiring two people",
        "Spotify are hiring two people",
    ),
    (["Waiting for a refund from Ryanair"], "They replied with a form", "Ryanair replied with a form"),
    (["My application to Philips is in"], "They confirmed it by mail", "Philips confirmed it by mail"),
    (["I applied for a job at Thales"], "They got back to me today", "Thales got back to me today"),
    (
        ["My contract with Telekom ends in June"],
        "they extended it without asking",
        "Telekom extended it without asking",
    ),
    (["I applied at Airbus in Toulouse"], "And they invited me!", "And Airbus invited me!"),
]
LEFT = [
    (["My parents visited."], "They liked Airbus"),
    (["My parents visited. I applied at Airbus."], "They called me"),
    (["I ordered shoes from Zalando."], "They arrived today"),
    (["Ordered two chairs from Ikea"], "They are too small"),
    (["I applied at Airbus and at Siemens"], "They called back"),
    (["Applied to Google.", "Applied to Meta."], "they rejected me"),
    (["I applied at Airbus.", "My parents are here"], "They called me"),
    (["I applied at Airbus", "the kids are sick"], "they said no to soup"),
    (["I applied at Airbus, Tom recommended it"], "They called back"),
    (["I talked to Sam, he has an interview at Airbus"], "They told me to wait"),
    (["I applied at Airbus"], "My friends are great, they called me"),
    (["I applied at Airbus"], "Ben and Lea came, they told me about it"),
    (["I applied at Airbus"], "They are blue"),
    (["I applied at Airbus"], 'He wrote "they called back"'),
    (["I like Airbus"], "they called back"),
    (["We went to Lyon"], "They offered us wine"),
    (["I got an email from Anna"], "They said that it's fine"),
    (["I applied at Airbus", "ok", "let's see"], "They called back"),
]


def turns(texts: list[str]) -> list[Turn]:
    """What Mia says."""
    return [Turn("Mia", text) for text in texts]


@pytest.mark.parametrize(("before", "text", "expected"), RESOLVED)
def test_they_is_the_only_organisation(before: list[str], text: str, expected: str) -> None:
    """It does what an organisation does to somebody."""
    assert with_organisation(Turn("Mia", text), turns(before)) == expected


@pytest.mark.parametrize(("before", "text"), LEFT)
def test_they_is_left_alone(before: list[str], text: str) -> None:
    """Another person, group, thing or organisation may be meant, or it was long ago."""
    assert with_organisation(Turn("Mia", text), turns(before)) == ""
