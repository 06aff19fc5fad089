from helix_query.profile.sections.section import CHANNEL_NAMES
from helix_query.recall.candidates import FOUND_BY, bit_of
from helix_query.recall.channels import CHANNELS


def test_profiles_know_exactly_the_channels_there_are() -> None:
    """A profile imports nothing of recall, so its names are held to the list of channels here."""
    assert tuple(channel.name for channel in CHANNELS) == CHANNEL_NAMES


def test_every_channel_and_the_graph_have_a_bit_of_their_own() -> None:
    """Eight bits at most."""
    assert len({int(bit_of(name)) for name in FOUND_BY}) == len(FOUND_BY) <= 8
