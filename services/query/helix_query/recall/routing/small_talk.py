"""Queries that are small talk, chance or play: closed sets of sentences and a few patterns.

No pattern leaves room for a subject of the caller's: "tell me a joke" matches, "tell me the joke Sam
told" does not.
"""

from __future__ import annotations

import re
from typing import Final

MAX_CLAUSES: Final = 5

_CLAUSE_END: Final = re.compile(r"[,.!?;:\u2014\u2026)(]+| - |\U0001f600|\U0001f642|\U0001f44d")
_OPENED: Final = re.compile(r"^(?:(?:oh|hey|ok|okay|well|ah|um|please|and|but|so) )+")
_ADDRESSED: Final = re.compile(
    r"(?: (?:there|again|all|everyone|everybody|folks|team|friend|mate|buddy|pal|helix|assistant|bot|dear|"
    r"please|"
    r"now|then|today|tonight|so much|very much|a lot|a bunch|a million|a ton|for (?:the|your|all the|"
    r"all your) "
    r"(?:help|support|time|patience|answer|explanation|info|information)|for (?:now|today|that|this|"
    r"helping|asking)))+$"
)
_GREETING = (
    "hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day|night)|morning|evening|"
    "welcome(?: back)?|hi hi|sup|hello hello|good to (?:see|meet|hear from) you(?: again)?|"
    "(?:it's |its )?(?:nice|great|lovely|a pleasure) (?:to (?:see|meet)|meeting|seeing|"
    "talking to) you(?: too| again)?"
)
_WELLBEING = (
    "how are you(?: doing| feeling)?|how(?:'s| is) (?:it going|life|your day(?: going)?)|"
    "how do you do|what'?s up|how(?:'s| is| was) your (?:day|night|weekend|morning)|"
    "how have you been|hope you(?: are|'re) (?:well|doing well|ok|fine)|(?:i'm |i am )?(?:fine|good|great|"
    "ok|well|not bad)|"
    "and you|how about you|what about you"
)
_THANKS = (
    "thanks|thank you|thx|ty|tysm|many thanks|cheers|much appreciated|(?:i )?(?:really )?appreciate (?:it|"
    "that|your help)|"
    "thanks?(?: you)? (?:kindly|anyway|in advance)|you(?:'re| are) (?:the best|great|awesome|amazing|"
    "a star|a lifesaver|"
    "so (?:kind|helpful|smart|funny)|very (?:kind|helpful)|welcome|right|funny|wonderful|too kind)|"
    "you rock|you're a genius|i love you|love it|i love it|i like it"
)
_PRAISE = (
    "cool|great|nice|perfect|awesome|excellent|wonderful|brilliant|fantastic|amazing|lovely|super|sweet|"
    "neat|wow|"
    "(?:that|this|it) (?:was|is|looks|sounds|works|worked)(?: (?:really|very|so|super|just|all))? "
    "(?:helpful|great|good|perfect|nice|fine|useful|cool|awesome|funny|clear|wonderful|amazing|lovely|"
    "right|enough|correct|well)|"
    "that's (?:really |very |so )?(?:great|good|perfect|nice|fine|it|all|funny|awesome|cool|helpful|"
    "wonderful|right|"
    "enough|correct|hilarious|amazing|ok|okay)|that (?:works|helps|helped)(?: (?:for me|perfectly|great))?|"
    "(?:it|this) works|looks (?:good|great)|"
    "(?:great|good|nice|excellent|amazing|fantastic) (?:job|work|answer|one|stuff|idea|point|question|"
    "response|explanation)|"
    "well done|good (?:bot|point)|bravo|congrats|congratulations|impressive|interesting|very (?:good|nice|"
    "helpful)|so cool|"
    "i'm impressed|sounds (?:good|great|fine|fun|perfect|like a plan)"
)
_ASSENT = (
    "ok|okay|k|kk|alright|all right|sure|sure thing|of course|right|yes|yeah|yep|yup|no|nope|nah|maybe|"
    "fine|got it|"
    "gotcha|understood|i see|makes sense|that makes sense|never ?mind|no (?:problem|worries|need|thanks|"
    "thank you)|nothing|"
    "nothing else|don't worry|not really|exactly|indeed|absolutely|agreed|fair enough|go ahead|hmm+|mhm|"
    "ah|oh|oh no|oops|my bad|sorry|i'm sorry|sorry about that|excuse me|pardon|i know|will do|done|roger|"
    "noted|"
    "let's go|here we go|ready|i'm ready|one moment|wait|hold on|just a (?:second|moment|minute)|i'm done"
)
_FAREWELL = (
    "bye|bye ?bye|goodbye|farewell|ciao|see (?:you|ya)(?: (?:later|soon|around|tomorrow))?|later|ttyl|"
    "talk (?:to you )?(?:later|soon)|"
    "take care|have a (?:nice|good|great|lovely|wonderful) (?:day|evening|night|weekend|one|time|morning|"
    "afternoon)|"
    "sleep well|sweet dreams|you too|same to you|until next time|that will be all|that's (?:all|it|"
    "everything)(?: i need(?:ed)?)?|"
    "(?:i )?(?:have to|gotta|got to|must) go|all the best|happy (?:new year|holidays|birthday|friday|"
    "monday)|merry christmas"
)
_LAUGHTER = r"lo+l|(?:ha){2,8}h?|(?:he){2,6}|rofl|lmao|xd|:\)|:-\)|:d|;\)|<3"
_LAUGHS: Final = re.compile(_LAUGHTER)
_PHRASE: Final = re.compile(f"{_GREETING}|{_WELLBEING}|{_THANKS}|{_PRAISE}|{_ASSENT}|{_FAREWELL}|{_LAUGHTER}")

_CONTRACTED: Final = re.compile(r"\b(that|this|it|what|how|here|there|i|you|we)(?: i| a| wi|)(s|m|re|ll)\b")
"""Contractions spelt out or without the apostrophe: "that is", "thats", "i am"."""
_ABOUT_YOU: Final = re.compile(
    r"(?:so |and |but )?(?:"
    r"are you (?:there|here|ok|okay|real|alive|awake|listening|busy|ready|sure|human|conscious|sentient|"
    r"happy|sad|tired|"
    r"smart|online|working|kidding|joking|a (?:robot|bot|human|person|machine|computer|real person|"
    r"chatbot)|an ai|"
    r"a? ?(?:human|robot|person) or a? ?(?:machine|robot|bot|computer|ai)|chatgpt)|"
    r"who (?:are you|made you|created you|built you|am i talking to)|what are you|"
    r"(?:do|can) you (?:ever )?(?:sleep|dream|eat|feel|think|dance|sing|cook|hear me|see me|help|help me|"
    r"understand me|"
    r"talk|like (?:music|people|humans|me|cats|dogs|movies|chocolate|pizza)|get (?:tired|bored|lonely)|"
    r"have (?:feelings|emotions|"
    r"a name|a body|friends|a favou?rite colou?r)|(?:speak|understand|know) (?:english|french|german|spanish|"
    r"italian|chinese|japanese|russian|portuguese|dutch|arabic|hindi|korean|polish|other languages)|"
    r"love me|hear that)|"
    r"what can you do(?: for me)?|what do you do|how (?:can|do|could) you help(?: me)?|how old are you|"
    r"how do you work|where (?:are you from|do you live|are you)|"
    r"are we friends|will you marry me|what languages do you speak|what(?:'s| is) your favou?rite colou?r|"
    r"i(?:'m| am) (?:so |a bit |really |very )?(?:bored|tired|hungry|happy|sad|sleepy|lonely|excited)|"
    r"(?:please )?help(?: me)?|testing|test|(?:this is )?(?:just )?a test|anyone (?:there|here)|"
    r"is (?:anyone|anybody|somebody) there|"
    r"(?:can|could) (?:i|we) (?:ask (?:you )?(?:something|a question)|talk|chat)|i have a question|"
    r"let's (?:talk|chat|play(?: a game)?|begin|start|do this)|talk to me|entertain me|make me (?:laugh|"
    r"smile)"
    r")"
)

_ANY = (
    r"(?:please |hey |ok |can you |could you |would you |will you |let's |just |now |quickly |"
    r"i want you to |go ahead and ){0,4}"
)
_PLAYED = (
    "jokes?|riddles?|limericks?|haikus?|poems?|songs?|tongue twisters?|fun facts?|stor(?:y|ies)|"
    "bedtime stor(?:y|ies)|"
    "puns?|dad jokes?|knock[- ]knock jokes?|puzzles?|brain ?teasers?|compliments?|quotes?|nursery rhymes?|"
    "fairy ?tales?|trivia questions?|raps?|lullab(?:y|ies)"
)
_KIND = (
    r"(?:(?:short|funny|silly|good|bad|quick|little|long|random|nice|corny|clean|simple|scary|new|"
    r"different|original|"
    r"interesting|inspirational|motivational|cheesy|sweet|tiny|two[- ]line|four[- ]line) ){0,2}"
)
_THEME = (
    r"(?: (?:about|on|for|featuring) (?:(?:an? |two |three )[a-z]{2,15}(?: (?:and|who|in|on|"
    r"with) an? [a-z]{2,15})?|"
    r"(?:the )?(?:sea|ocean|sun|moon|stars|rain|snow|wind|sky|night|weather|seasons|spring|summer|autumn|"
    r"winter|nature|"
    r"love|friendship|animals|cats|dogs|birds|trees|flowers|mountains|coffee|tea|cheese|pirates|robots|"
    r"ghosts|dragons)))?"
)
_SMALL_NUMBER = (
    r"(?:\d{1,6}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|fifty|a hundred|a thousand)"
)
_PLAY: Final = re.compile(
    rf"{_ANY}(?:(?:tell|sing|give|write|make up|make|compose|recite|do|read|invent|create|"
    rf"generate)(?: (?:me|us))? )?"
    rf"(?:an? |another |one |one more |some |{_SMALL_NUMBER} |"
    rf"a couple of )?(?:more )?{_KIND}(?:{_PLAYED}){_THEME}(?: please| for me)?|"
    rf"{_ANY}say something (?:nice|funny|random|interesting|sweet|smart|else)|knock[- ]knock|another one|"
    rf"one more|again please|"
    rf"{_ANY}draw (?:me )?an? (?:smiley|smile|cat|heart|face|house|dog|flower|tree|star|bunny)(?: (?:in|"
    rf"with|as|using) ascii(?: art)?)?"
)
_CHANCE: Final = re.compile(
    rf"{_ANY}(?:flip|toss|throw) (?:an?|the|{_SMALL_NUMBER}) coins?(?: (?:for me|{_SMALL_NUMBER} times|"
    rf"again|once|twice))?|heads or tails|"
    rf"{_ANY}(?:roll|throw) (?:me )?(?:(?:an?|the|some|{_SMALL_NUMBER}) )?(?:(?:pair of|six[- ]sided|"
    rf"{_SMALL_NUMBER}[- ]sided|d\d{{1,3}}) )?"
    rf"(?:dice|die|\d{{0,2}}d\d{{1,3}})(?: (?:for me|{_SMALL_NUMBER} times|again|once|twice|and (?:add|"
    rf"sum)(?: them| it)?(?: up)?))?|"
    rf"{_ANY}(?:(?:pick|choose|give|generate|think of|get|name|say|draw|select|make)(?: me)? )?(?:an? |"
    rf"{_SMALL_NUMBER} )?random "
    rf"(?:numbers?|digits?|letters?|words?|colou?rs?|cards?|uuids?|animals?|passwords?|strings?|integers?|"
    rf"dates?|names?|emojis?)"
    rf"(?: (?:between|from|of|with|in|under|below|up to|to) [\d\w ]{{1,30}}?)?|"
    rf"{_ANY}(?:pick|choose|think of|give me|say|name|guess|draw) an? (?:number|card|letter|colou?r)"
    rf"(?: (?:at random|(?:between|from) \d{{1,9}} (?:and|to) \d{{1,9}}|any))*(?: for me)?|"
    rf"{_ANY}(?:generate|create|make|give me) (?:an? |{_SMALL_NUMBER} )?(?:new )?(?:uuids?|guids?)(?: v4)?|"
    r"rock,? paper,? (?:or )?scissors"
)
_ECHO: Final = re.compile(
    rf"{_ANY}(?:say|reply|respond|answer|write|type|print|output)(?: (?:with|only|just|me))* "
    r"(?:hello|hi|ok|okay|yes|no|hello world|a single word|one word|cheese|bye|goodbye|something|anything|"
    r"nothing|yes or no)(?: (?:back|only))?|"
    rf"{_ANY}count (?:(?:up|down|backwards) )?(?:(?:from|to) {_SMALL_NUMBER} ?){{1,2}}(?:backwards|"
    rf"by (?:twos|fives|tens))?|"
    rf"{_ANY}(?:write|recite|say|sing|type|list|print|give me) (?:me )?the (?:alphabet|abc|"
    rf"(?:letters of the )?(?:english )?alphabet)(?: (?:backwards|in reverse|in capitals))?|"
    rf"{_ANY}(?:print|list|write|say|give me) (?:out )?(?:all )?(?:the )?(?:even |odd |prime |"
    rf"whole )?numbers (?:from )?{_SMALL_NUMBER} (?:to|through|and|-) {_SMALL_NUMBER}|"
    rf"{_ANY}repeat the word [a-z]{{2,15}}(?: {_SMALL_NUMBER} times)?|"
    rf"{_ANY}say [a-z]{{2,15}} {_SMALL_NUMBER} times"
)


def is_small_talk(folded: str) -> bool:
    """Whether every clause of a query (lower case) is a greeting, thanks, assent, praise or farewell."""
    clauses = [part for part in (piece.strip() for piece in _CLAUSE_END.split(folded)) if part]
    if not clauses:
        return _LAUGHS.fullmatch(folded) is not None
    return len(clauses) <= MAX_CLAUSES and all(map(_is_phrase, clauses))


def _is_phrase(clause: str) -> bool:
    return _is_closed(clause) or _is_closed(_CONTRACTED.sub(r"\1'\2", clause))


def _is_closed(clause: str) -> bool:
    if _PHRASE.fullmatch(clause) or _ABOUT_YOU.fullmatch(clause):
        return True
    return any(
        _PHRASE.fullmatch(bare) or _ABOUT_YOU.fullmatch(bare) or _is_pair(bare)
        for bare in _without_address(clause)
    )


def _without_address(clause: str) -> tuple[str, str]:
    """The clause without the person it addresses, then also without its opening word."""
    bare = _ADDRESSED.sub("", clause)
    return bare, _OPENED.sub("", bare)


def _is_pair(clause: str) -> bool:
    """Whether a clause is two phrases without a comma: "ok cool", "cheers mate thanks"."""
    words = clause.split()
    return any(
        _PHRASE.fullmatch(" ".join(words[:cut])) and _PHRASE.fullmatch(" ".join(words[cut:]))
        for cut in range(1, min(len(words), 6))
    )


def play_reason(folded: str) -> str:
    """Which of chance, echo and play a query is (lower case, no end punctuation); empty for none."""
    for reason, pattern in (("chance", _CHANCE), ("echo", _ECHO), ("play", _PLAY)):
        if pattern.fullmatch(folded):
            return reason
    return ""
