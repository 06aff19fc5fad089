"""What people tell everybody to do: "we should cherish every moment", "people must remember to rest".

It has the words of a task, but nobody has to do it on some day. "We" alone does not tell the two apart, so
two things decide. The words behind it express an attitude ("be kinder", "never give up"), or care for
everybody ("help each other"). And the clause names no thing of its own: no day, no number, and nothing with
"the" or "my" but what is common to all ("the planet"). The resolutions of one person ("I should sleep more")
stay tasks.

All patterns are matched on text as `spelling.as_read` gives it, and every repetition is bounded.
"""

from __future__ import annotations

import re
from typing import Final

READ_BEHIND: Final = 80
"""Characters behind the words of an obligation that are read."""
READ_BEFORE: Final = 40
"""Characters in front of them in which "as a society" is looked for."""

_SOFT: Final = r"(?:(?:still|also|really|just) ){0,2}"
_OBLIGED: Final = re.compile(
    rf"\bwe {_SOFT}(?:need to|have to|gotta|must|should|ought to|got to)\b|\bwe(?:'ve| have) {_SOFT}got to\b"
    # "gotta stay positive", of which `as_read` makes "i gotta stay positive"
    r"|^i gotta\b|\bremember to\b"
)
_BY_OTHERS: Final = re.compile(
    r"\b(?:people|everyone|everybody|humans|folks|you) (?:[a-z']{1,12} ){0,3}?remember to\b"
)
_AS_WE_ARE: Final = re.compile(
    r"\bas (?:an? )?(?:society|nation|country|species|people|humans?|human beings|humanity|community|world"
    r"|generation|citizens|consumers|adults|parents|friends|neighbours)\b,? $"
)
_CLAUSE_END: Final = re.compile(r"[,;:!?.()\u2013\u2014]|\b(?:and|but|so|or) (?:i|we|you|they|then)\b")
_NAMES_A_DAY: Final = re.compile(
    r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|tonight|tomorrow"
    r"|(?:this|next) (?:week|weekend|month|morning|afternoon|evening|spring|summer|autumn|winter|term)"
    r"|(?:by|in|until|before) (?:noon|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|summer|winter|spring|autumn|christmas|easter))\b"
)
_COMMON: Final = (
    r"(?:planet|environment|earth|oceans?|seas?|climate|world|moments?|process|past|present|future|truth"
    r"|way|times?|fact|most|best|good|same|others?|rest|end|bright|young|old|poor|elderly|weak|homeless"
    r"|children?|little|small|simple|importance|beauty|power|people|things|ones?|kids|parents|elders"
    r"|community|society|communities|nature|journey|mistakes|roots|history|differences|health"
    r"|mental health|bod(?:y|ies)|lives|life|dreams?|fears?|hearts?|minds?|feelings|emotions|instincts?"
    r"|gut|battles|limits|flaws|blessings|friends|famil(?:y|ies)|neighbou?rs|rights|freedoms?|traditions"
    r"|hopes?|faith|opinions?|shoes|comfort|victims|fallen|change|ability|sake|place|next|own|schools?"
    r"|teachers)\b"
)
_NAMES_A_THING: Final = re.compile(
    rf"\b(?:the|this|these|my|your|his|her|their) (?!{_COMMON})\w"
    rf"|\b(?:about|at|for|from|in|of|on|to|with) (?:that|an?) (?!{_COMMON})\w"
)
_LEAD: Final = (
    r"\W*(?:(?:all|always|never|not|really|just|definitely|only|simply|both|each|at least|sometimes"
    r"|eventually|actively|constantly|(?:try|learn|remember|start|continue|strive) to) ){0,3}"
)
_EVERYBODY: Final = (
    r"(?:each other|one another|ourselves|others|other people|(?:young |old |older )?people|everyone"
    r"|everybody|those (?:who|in|around|we|that|with|less)|humanity|strangers|animals|wildlife|nature|god"
    r"|life|love|change|growth|failure|honesty|kindness|every (?:moment|second|opportunity|chance|single"
    r"|day|step)|each (?:day|moment|step)|future generations|what (?:we have|matters|others|is|really)"
    rf"|in (?:life|god|people|each|ourselves)|(?:the|our) {_COMMON}|(?:little|small|simple) things)"
)
_FELT: Final = (
    r"(?:cherish|savou?r|treasure|embrace|appreciate|admire|strive|persevere|love|forgive|judge|respect"
    r"|enjoy|dream|cooperate|empathi[sz]e|hope|find joy|slow down|give up|let go|live (?:in (?:peace|harmony"
    r"|the)|a little|each|every|life|with less|more)|learn from|care (?:more )?about|raise awareness"
    r"|(?:never|not) (?!(?:forget|miss|be late)\b)\w+|let (?:(?:people|kids|others) (?:be|make)|love|fear)"
    r"|join forces|play our part|do our (?:part|bit|best)|do better|(?:follow|chase) our (?:dream|heart)s?"
    r"|(?:choose|pick) our battles|go easy|believe in|stand up for|speak (?:up|out)|fight (?:for|against)"
    r"|spread (?:love|kindness|joy|hope)|think (?:before|twice|positive|less|big|(?:of|about) others)"
    r"|say (?:no|(?:thank you|thanks|sorry) more)|put ourselves in|make the (?:most|best)|make every"
    r"|get used to|look on the|give (?:people|each other) (?:a|space|time|credit)|cut people"
    r"|keep (?:going|growing|learning|moving|pushing|fighting|believing|dreaming|smiling|striving|hoping"
    r"|the faith|hope|faith|an open mind|our (?:heads?|chins?|hearts?))|have (?:(?:more|some|a little) )?"
    r"(?:faith|hope|compassion|respect|empathy|patience|courage|confidence)|take (?:[\w']{1,15} ){0,3}"
    r"(?:for granted|seriously)|take (?:(?:the|more|some) )?time to (?:enjoy|appreciate|breathe|reflect|rest"
    r"|relax|listen|be)|stop (?:judging|worrying|complaining|comparing|polluting|wasting|blaming|pretending"
    r"|hating|ignoring|treating|being|thinking)|breathe|pause|reflect|relax|laugh|smile|rest|heal)"
)
"""Attitudes, whatever they are about."""
_CARED_FOR: Final = (
    r"(?:(?:accept|celebrate|encourage|help|honou?r|inspire|listen(?: more)? to|look after|look out for"
    r"|nurture|preserve|protect|recogni[sz]e|remember|save|support|tolerate|treat|trust|understand|uplift|value"
    r"|forget|(?:take )?(?:better |good |more )?care (?:of|for)|underestimate|be there for|connect with"
    rf"|check in on|think (?:more )?(?:of|about)|invest in) {_EVERYBODY}"
    r"|(?:accept|acknowledge|admit|forget|prove|question|recogni[sz]e|reali[sz]e|remember|underestimate|value)"
    r" (?:that|how|when|where|what|who)|(?:push|challenge|remind|educate|compare|ask) ourselves)"
)
"""Attitudes only where they are for everybody: "help each other", but not "help Anna"."""
_BEING: Final = (
    r"(?:be|stay|remain|become) (?:(?:more|less|so|very|really|a bit|a little|a lot"
    r"|much) ){0,2}(?:grateful|thankful|kind(?:er)?|gentler?|patient|humble|mindful|hopeful|positive"
    r"|optimistic|strong(?:er)?|glad|resilient|brave|true|open|open-minded|respectful|compassionate"
    r"|tolerant|proud|curious|hydrated|humane|realistic|focused|united|content|nicer|afraid|ashamed"
    r"|vulnerable|generous|considerate|understanding|fair|calm|happy|honest|better|ourselves|good to"
    r"|the change|in the moment)"
)
_MORE: Final = (
    r"(?:drink|eat|sleep|exercise|move|walk|read|recycle|listen|worry|complain|consume|waste|care|hug|talk"
    r"|share|use|fly|scroll|spend|travel)(?: (?:a lot|much|far|a bit|a little|to (?:each other"
    r"|people)))? (?:more|less|fewer|enough|plenty|healthier|better|openly)"
)
_TEACH: Final = r"teach (?:our |the )?(?:kids|children|boys|girls|people|young people) (?:to|how|about|that)"
_ADVICE: Final = re.compile(rf"{_LEAD}(?:{_FELT}|{_CARED_FOR}|{_BEING}|{_MORE}|{_TEACH})\b")
_TO_A_READER: Final = re.compile(r"\b(?:yourself|yourselves)\b")


def without_advice(folded: str) -> str:
    """A sentence, as it is read, without the words of obligation of what it tells everybody to do."""
    return _OBLIGED.sub(_unless_advice, _BY_OTHERS.sub("", folded))


def _unless_advice(found: re.Match[str]) -> str:
    """The words of an obligation; nothing where they give advice to everybody."""
    behind = found.string[found.end() : found.end() + READ_BEHIND]
    end = _CLAUSE_END.search(behind)
    clause = behind[: end.start()] if end else behind
    if _NAMES_A_DAY.search(clause) or _NAMES_A_THING.search(clause):
        return found[0]
    before = found.string[max(0, found.start() - READ_BEFORE) : found.start()]
    is_to_a_reader = found[0] == "remember to" and _TO_A_READER.search(behind)
    return "" if is_to_a_reader or _ADVICE.match(clause) or _AS_WE_ARE.search(before) else found[0]
