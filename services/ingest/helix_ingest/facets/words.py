"""Words of which a sentence must hold one to have a facet: a test of sets costs far less than its pattern.

A test holds the patterns against these sets. Words are lower case; "can't" and "self-employed" are one word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix_memory.vocabulary.facets import Facet

WORD: Final = re.compile(r"[a-z\u00e0-\u024f0-9'-]+")

_SELF: Final = "i i'm i'd i've i'll my me we we're we've we'd our us mine"
_DIET: Final = (
    "vegan vegetarian veggie pescatarian halal kosher teetotal sober coeliac celiac diabetic asthmatic"
    " lactose"
    " gluten dairy nut sugar alcohol caffeine nuts peanuts shellfish lactose-free gluten-free dairy-free"
    " nut-free"
    " sugar-free alcohol-free caffeine-free lactose-intolerant gluten-intolerant dairy-intolerant"
)
_BODY: Final = (
    "back knee knees hip hips heart lung lungs shoulder shoulders stomach eye eyes ear ears wrist wrists"
)
_LIMBS: Final = "ankle ankles neck skin feet foot hand hands"
_CONSTRAINT: Final = (
    f"{_DIET} {_BODY} {_LIMBS} allergic allergy allergies intolerant intolerance give gives giving gave"
    f" make makes"
    " can't cannot mustn't not unable won't refuse refuses don't never ever please no stay keep"
    " staying"
    " keeping avoid always now rule default nothing anything something somewhere someone food drink drinks"
    " place"
    " places without only most latest more later earlier limit maximum max budget ceiling be each per time"
)
_PREFERENCE: Final = (
    "prefer loathe detest adore dislike despise can't cannot not love hate like enjoy fancy rather"
    " favourite"
    " favourites favorite favorites fan thing cup style taste person into fond keen sick tired scared afraid"
    " terrified used picky fussy sensitive obsessed crazy mad hooked suit suits bother bothers annoy"
    " annoys bugs"
    " drive drives drove relaxes calms bore bores wall peeve me us always usually only mostly normally"
    " generally"
    " rarely hardly tend never don't want need wants likes loves hates prefers insist insists refuse"
    " refuses"
    " won't doesn't eats size better use switched"
)
_IDENTITY: Final = "i i'm i've i'll my me here home we we're we've our"
_TASK: Final = (
    "need have gotta got must should ought todo to-do deadline due remind forget remember open overdue"
    " outstanding"
    " unfinished left owe"
)

NEEDED: Final[Mapping[Facet, frozenset[str]]] = {
    "identity": frozenset(_IDENTITY.split()),
    "background": frozenset([*_SELF.split(), "years"]),
    "relationship": frozenset(["my", "our", "name", "new", "kids", "children", "twins", "boys", "girls"]),
    "preference": frozenset(_PREFERENCE.split()),
    "constraint": frozenset(_CONSTRAINT.split()),
    "project": frozenset([*_SELF.split(), "project", "team"]),
    "plan": frozenset([*_SELF.split(), "plan"]),
    "task": frozenset(_TASK.split()),
}
SHOUTED_WORDS: Final = frozenset(["NOT", "NEVER", "NO", "ALWAYS", "ONLY", "DON'T"])
"""Words of `static_part.SHOUTED`."""
