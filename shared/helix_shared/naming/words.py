"""Word lists for finding names: capitalised words that are not names, and words inside names."""

from __future__ import annotations

from typing import Final

from helix_shared.text.apostrophes import SHORT_FORMS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONNECTIVES: Final = _words(
    "of de van von der den the la le les du del della di da dos das y e el al bin ibn af zu"
)
"""May occur inside a name, between two capitalised words: "Bishop of Elmham", "Lord of the Rings"."""

TITLES_BEFORE_A_DOT: Final = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "jr",
        "sr",
        "lt",
        "col",
        "gen",
        "sgt",
        "capt",
        "rev",
        "hon",
        "mt",
        "ft",
        "no",
        "vs",
    ]
)
"""Abbreviations whose dot ends no sentence and no name."""

FUNCTION_WORDS: Final = _words(
    """
    a about above across actually after again against ago all almost alone along already also although
    always am among an and another any anybody anyone anything anyway are around as at away back be
    because been before behind being below besides between both but by can cannot could couldn did didn
    do does doesn doing don done down during each either else enough even ever every everybody everyone
    everything except few for from further get gets getting give given go goes going gone got had hadn
    has hasn have haven having he hence her here hers herself him himself his how however i if in indeed
    instead into is isn it its itself just keep kept lately later least less let lets like likely many
    may maybe me meanwhile might mine more moreover most much must my myself near nearly neither never
    nevertheless next no nobody none nor not nothing now of off often oh ok okay on once one only onto or
    other others otherwise our ours ourselves out over own per perhaps please quite rather really same
    see seem seems shall she should shouldn since so some somebody someone something sometimes somewhere
    soon still such sure than that the their theirs them themselves then there therefore these they thing
    things this those though through throughout thus till to today together tomorrow tonight too toward
    towards under unless until unto up upon us use used using usually very via was wasn we well were
    weren what whatever when whenever where whereas wherever whether which while who whoever whole whom
    whose why will with within without won would wouldn yes yesterday yet you your yours yourself
    """
)
"""Words that carry no name by themselves, in any position."""

OPENERS: Final = FUNCTION_WORDS.union(SHORT_FORMS, SHORT_FORMS.values()) | _words(
    """
    absolutely according add added additionally agreed ah alright amazing anytime apparently ask asked
    attended awesome based basically believe best better big booked bought bring bug build built buy bye
    call called cancel canceled cancelled cause celebrated check checked cheers chose clearly close come
    congrats congratulations consequently consider considering cooked cool correct create created
    currently damn das dear decided default definitely delete den depending deploy deployed der despite
    drove due earlier early email emailed ensure error errors especially eventually exactly example
    examples excellent fantastic figure file files finally find finished first fix fixed flew following
    found fourth fun furthermore gave generally glad good gosh got great guess haha happy he'll hello help
    here's hey hi hired hmm hope hopefully hosted huge i'd i'll import important include including
    initially install installed interesting invite invited issue it's joined know last later learned lent
    let's listen look looking looks love loved lovely made make makes married meet mention merged messaged
    met migrate migrated missed morning moved need needs new nice none nope note notes notice obviously
    old open ordered originally overall paid people phone phoned picked probably problem put question read
    recently regarding remember remind reminded remove removed renamed renew replace replaced reply report
    result results return returns reviewed rewrote right run running said saw say scheduled second see
    send set sets several she'd she'll shipped should show shows similarly simply since slowly sold sorry
    sounds source specifically spent spoke start started stay step stop subsequently success suddenly
    summary support suppose switched take talk tell test tests text texted thank thanked thanks theirs
    these third thought thoughts three time tip todo told took totally traceback trust try two type
    typically ugh undefined unfortunately unlike update updated upgrade upgraded usage useful user users
    value visit visited wait want warning was watched we'd we'll we're welcome who'll who've why's work
    works worth wow write wrote yay yeah yep
    """
)
"""Words that open a sentence and are no part of the name behind them ("Thanks Marek")."""

CALENDAR: Final = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec am pm ad bc bce ce
    """
)
"""Capitalised, but times and not names when alone or with numbers."""

NAMED_NEW: Final = _words(
    """
    bedford brunswick caledonia delhi england forest guinea hampshire haven hebrides jersey mexico orleans
    plymouth relic rochelle south testament year york zealand
    """
)
"""Words of which "New" is a part, also at the start of a sentence."""

PERSON_VERBS: Final = _words(
    """
    said says asked asks told tells wrote writes likes liked loves loved hates hated prefers wants wanted
    lives thinks thought knows knew died married met promised apologised apologized forgot refuses
    refused agreed
    """
)
"""Verbs that only persons do: a common word before one of them is a name ("Rose said")."""

PLURAL_VERBS: Final = _words("are were have do need want go come run work cost aren't weren't haven't don't")
"""Verbs that one name is no subject of: "Invoices are due"."""
