"""Whether a turn is nothing but an acknowledgement: greeting, thanks, assent, praise, comfort, or laughter.

Only a turn without any other content is one: "No, Alice is the owner" begins like an acknowledgement and is
none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from helix_ingest.extraction.acts.remarks import is_remark
from helix_ingest.extraction.acts.sentences import words

READ_CHARACTERS: Final = 400
"""A longer text is no acknowledgement."""
_REMEMBERED: Final = 1_024
"""Texts whose answer is kept: each is asked about for its own turn, and for the ones that follow it."""

_GREETING: Final = (
    r"thanks?(?: you)?|thx|ty|cheers|ta|hi|hey|hello|bye(?: bye)?|good ?bye|good (?:morning|night|evening"
    r"|afternoon|day|luck)|(?<!this )(?<!in the )(?<!all )morning|welcome(?: back)?"
    r"|happy (?:birthday|new year)|congrat(?:ulation)?s"
    r"|well done|(?:nice|good|great|lovely|pleased|happy) to (?:meet|see|hear from) (?:you|u)"
    r"|see (?:you|u|ya)(?: soon| later| around| then| tomorrow)?|take care|have (?:fun|a (?:good|nice"
    r"|great)\w* "
    r"\w+)|enjoy|my pleasure|you(?:'re|\u2019re|re| are) welcome|don['\u2019]?t mention it"
    r"|no (?:worries|problem|prob)|np|anytime|sorry(?: to hear that)?|i['\u2019]?m sorry|oh no|oh dear"
    r"|poor you"
)
_ASSENT: Final = (
    r"yes|yeah|yep|yup|ya|aye|sure(?: thing)?|of course|certainly|absolutely|definitely|ok(?:ay)?|k|kk"
    r"|okey|alright"
    r"|all right|right|fine(?: by me| with me)?|agreed|deal|correct|exactly|indeed|true|sounds (?:good"
    r"|great|fine"
    r"|right|perfect|like a plan)|go ahead|go for it|please do|do (?:it|that|so)|works for me|why not"
    r"|perfect|great|good|cool|nice|lovely|awesome|excellent|wonderful|brilliant|fantastic|super|sweet"
    r"|i do|we do|it is|it does|they are|yes please|(?:please|pls)"
)
_DISSENT: Final = r"no|nope|nah|no way|not (?:really|yet|now|at all)|rather not|never"
_RESPONSE: Final = (
    r"got it|got you|gotcha|noted|understood|i see|makes sense|will do|on it|copy that|roger|all good"
    r"|never ?mind|nvm|forget it|whatever|done|saved|recorded|no comment|me too|same(?: here)?|wow|ooh?"
    r"|ah+|oh+|u+gh"
    r"|h+m+|haha\w*|hehe\w*|ha|lol|lmao|rofl|omg|xd|yay|hurray|phew|oops|ouch|aww*|anyway|interesting|noice"
    r"|how (?:nice|lovely|cool|sweet|sad|funny)|let me (?:check|see|think|look)|one (?:sec(?:ond)?"
    r"|moment|minute)"
    r"|happy to (?:help|be one)|glad to h(?:ear|elp)(?: that| it)?|i know(?: right)?|no idea"
    r"|good (?:question|point|one"
    r"|idea|call|job|work|stuff|to know)|nice one|not bad|fair enough|can['\u2019]?t wait|here you go"
)
_FILLER: Final = (
    r"so|very|much|really|a lot|lots|again|then|for|that(?:['\u2019]?s| is)?|it|is|was|the|to|too|and"
    r"|all|you|u"
    r"|your|guys|everyone|everybody|folks|there|mate|man|dude|buddy|friend|dear|love|oh|well|just|now"
    r"|help|info"
    r"|back|this|both|please|pls|i|my"
)
_ACKNOWLEDGEMENT: Final = re.compile(rf"\b(?:{_RESPONSE}|{_GREETING}|{_ASSENT}|{_DISSENT})\b", re.IGNORECASE)
_ADDRESSED: Final = re.compile(rf"^\W*(?:{_GREETING})\b", re.IGNORECASE)
_ONLY_FILLER: Final = re.compile(rf"\b(?:{_FILLER})\b", re.IGNORECASE)
_UNSPACED_ACKNOWLEDGEMENT: Final = re.compile(
    # thanks, good, all right, haha, greetings, understood, of Chinese, Japanese and Korean
    r"(?:\u8c22\u8c22|\u8b1d\u8b1d|\u591a\u8c22|\u611f\u8c22|\u597d\u7684|\u597d|\u55ef|\u54c8+|\u4f60\u597d"
    r"|\u518d\u89c1|\u518d\u898b|\u660e\u767d\u4e86?|\u77e5\u9053\u4e86|\u6536\u5230|\u6ca1\u5173\u7cfb"
    r"|\u662f\u7684?"
    r"|\u5bf9|\u4e0d\u7528\u8c22|\u592a\u597d\u4e86|\u8f9b\u82e6\u4e86|\u5927\u5bb6|\u4f60|\u60a8|\u4e86"
    r"|\u5427|\u554a"
    r"|\u3042\u308a\u304c\u3068\u3046(?:\u3054\u3056\u3044\u307e(?:\u3059|\u3057\u305f))?"
    r"|\u3053\u3093\u306b\u3061\u306f"
    r"|\u304a\u306f\u3088\u3046|\u306f\u3044|\u3046\u3093|\u4e86\u89e3(?:\u3067\u3059)?"
    r"|\u308f\u304b\u308a\u307e\u3057\u305f"
    r"|\u306a\u308b\u307b\u3069|\u3088\u308d\u3057\u304f|\u304a\u75b2\u308c\u69d8"
    r"|\uac10\uc0ac(?:\ud569\ub2c8\ub2e4|\ud574\uc694)?|\uace0\ub9c8\uc6cc\uc694?"
    r"|\uc548\ub155(?:\ud558\uc138\uc694)?"
    r"|\ub124|\uc751|\uc54c\uaca0(?:\uc5b4\uc694?|\uc2b5\ub2c8\ub2e4)|\uc88b\uc544\uc694?)"
)
_MOMENT: Final = (
    r"(?:(?:just )?(?:one|a|1) (?:sec(?:ond)?|moment|min(?:ute)?|mo|tick)|(?:hold|hang) on|wait|brb"
    r"|be right back|(?:please )?bear with me|give me (?:a|one|two|5|five|1|2) (?:sec|moment|min|tick)\w*"
    r"|back in a (?:sec|min)\w*)"
)
_SEARCH: Final = (
    r"(?:let me (?:just |quickly )?(?:check|look(?: (?:it|that|this|them) up)?|see|find(?: (?:it|that"
    r"|out))?|grab"
    r"|get|fetch|have a look|dig|look for)"
    r"|(?:i(?:['\u2019]?ll| will| need to| have to|['\u2019]?d have to)|gotta|need to"
    r"|have to) (?:just |quickly )?"
    r"(?:check|look (?:it|that|this|them) up|find (?:it|that|out)|have a look)"
    r"|(?:still )?(?:checking|looking|searching))"
)
_STALLING: Final = re.compile(
    r"^\W*(?:(?:oh|ok(?:ay)?|yeah|sure|um+|uh+|hm+|sorry|well|good question|not sure)\b\W*)*"
    rf"(?:{_MOMENT}|{_SEARCH})\b"
    r"(?:[ ,;:.!-]+(?:a (?:sec(?:ond)?|moment|min(?:ute)?|bit)|it|that|this|them|please|for (?:it|that|you)"
    r"|(?:it|that) up|(?:with|in|on|at|from) (?:my |the |our |his |her )?[\w'\u2019-]+|first|quickly"
    r"|then|now|again"
    rf"|my \w+(?: \w+)?|{_MOMENT}|{_SEARCH})\b)*\W*$",
    re.IGNORECASE,
)
"""A turn that only puts its answer off ("hold on", "let me check my calendar")."""
_INTERRUPTED: Final = re.compile(
    rf"^\W*{_MOMENT}(?: a (?:sec(?:ond)?|moment|min(?:ute)?|bit))?[,;:.!-]+ *(?P<why>[^\d?.!]{{0,40}})\W*$",
    re.IGNORECASE,
)
"""The same with a reason ("hold on, doorbell")."""
_MOST_REASON_WORDS: Final = 4
_NAMED: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_SEARCHED_DAY: Final = re.compile(r"\b(?:on|at|in) (?:the )?(?:\w+day|weekend|\d)", re.IGNORECASE)
"""What will be done then is a plan ("I'll check on Friday")."""
NUMBER_WORD: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
    r"|hundred)\b",
    re.IGNORECASE,
)
_BEGINS_ASSENT: Final = re.compile(rf"^\W*(?:{_ASSENT})\b", re.IGNORECASE)
_BEGINS_DISSENT: Final = re.compile(
    rf"^\W*(?:{_DISSENT})\b(?! (?:worries|problem|prob|comment|idea|mind))", re.IGNORECASE
)


def is_acknowledgement(text: str) -> bool:
    """Whether a text is nothing but a greeting, thanks, assent, praise or comfort."""
    return len(text) <= READ_CHARACTERS and _only_acknowledges(text)


@lru_cache(_REMEMBERED)
def _only_acknowledges(text: str) -> bool:
    rest = _UNSPACED_ACKNOWLEDGEMENT.sub(" ", _ACKNOWLEDGEMENT.sub(" ", text))
    is_acknowledged = len(words(rest)) < len(words(text)) or not words(text)
    left = words(_ONLY_FILLER.sub(" ", rest))
    if is_acknowledged and not left:
        return True
    # "thanks Mira"
    if len(left) == 1 and not NUMBER_WORD.search(rest) and _ADDRESSED.match(text):
        return True
    return is_remark(text) or puts_off(text)


def puts_off(text: str) -> bool:
    """Whether a text does nothing but ask for a moment, with at most a short reason."""
    if _SEARCHED_DAY.search(text):
        return False
    found = _INTERRUPTED.match(text)
    is_reason = (
        found is not None and not _NAMED.search(text) and len(words(found["why"])) <= _MOST_REASON_WORDS
    )
    return is_reason or _STALLING.match(text) is not None


def assents(text: str) -> bool:
    """Whether a text begins with yes or an equal word."""
    return bool(_BEGINS_ASSENT.match(text))


def dissents(text: str) -> bool:
    """Whether a text begins with no or an equal word."""
    return bool(_BEGINS_DISSENT.match(text))
