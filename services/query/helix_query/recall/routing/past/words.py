"""Words and phrases by which a question is about earlier times, for `past_question`, which reads them."""

from __future__ import annotations

import re
from typing import Final

from helix_shared.timex import verbs

TOKEN: Final = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")
PRESENT: Final = (
    verbs.PRESENT_BE
    | verbs.HAVE
    | verbs.DO
    | verbs.FUTURE
    | {
        "can",
        "can't",
        "may",
        "might",
        "must",
        "mustn't",
        "shall",
        "should",
        "could",
        "would",
        "needs",
        "need",
    }
)
PAST: Final = verbs.PAST_BE | {"did", "didn't", "had", "hadn't", "used"}
IS: Final = frozenset(["what's", "who's", "where's", "when's", "how's", "which's", "that's", "it's"])
SHORTEST_ED: Final = 4
NOUNS_IN_ED: Final = frozenset(
    ["bed", "seed", "speed", "need", "feed", "breed", "shed", "weed", "hundred", "red"]
)
NOW: Final = re.compile(
    r"(?<!until )(?<!till )(?<!before )(?<!up to )\b(?:current(?:ly)?|now|nowadays|at the moment|these days|"
    r"still|today|any ?more|any longer|at present|presently|by now|as of (?:now|today)|up[- ]to[- ]date|"
    r"latest|newest|in the end|atm)\b"
)

_CHANGE: Final = (
    r"(?:chang|mov|switch|swap|evolv|develop|shift|postpon|reschedul|rebook|renam|migrat|revert|updat|replac|"
    r"rais|lower|increas|decreas|cancel|abandon|adjust|revis|relocat|transfer)(?:e|es|ed|d|s|ing)?\b"
)
_ENDS: Final = (
    r"(?:stop|stopped|quit|give up|gave up|given up|drop|dropped|leave|left|go up|went up|gone up|go down|"
    r"went down|gone down|get rid of|got rid of|push(?:ed)? back|call(?:ed)? off|put off|turn(?:ed)? into|"
    r"take over|took over|bring forward|brought forward|become|became)\b"
)
CHANGES: Final = re.compile(
    r"\bhow (?:often|many times) (?:has|have|did|was|were)\b"
    rf"|\b(?:has|have|had|did) [^?]{{1,80}}?\b(?:{_CHANGE}|(?:gone|go|went) (?:up|down)\b)"
    r"|\bsince when\b|\b(?:was|were) [^?]{1,60}? always\b|\bchanges? (?:was|were|has|have|did)\b"
    r"|\bhow (?!do |does |to |can |could |should |would |will )[^?]{1,60}? (?:changed|evolved|developed)\b"
    r"|\b(?:when|why|how|since when|how long ago) (?:did|was|were|has|have|had) [^?]{1,80}?"
    rf"\b(?:{_CHANGE}|{_ENDS})"
    rf"|\bwhat (?:has |have |had )?(?:been )?(?:changed|moved|is different|was different)\b"
    rf"|\b(?:was|were) [^?]{{1,60}}? (?:different|another) (?:before|earlier|then)\b"
    r"|\bover time\b|\bhistory of\b|\bover the (?:years|months|weeks)\b"
    r"|\b(?:all|every) \w+ [^?]{0,60}?\bin order\b|\ball the (?:versions|changes)\b"
    r"|\b(?:has|have|had) [^?]{1,60}? (?:ever|always) been\b"
)
CHANGED_FROM: Final = re.compile(rf"\b{_CHANGE}(?: [\w']{{1,30}}){{0,3}} from\W*$")

ASKS_WHAT: Final = re.compile(
    r"^\W*(?:\w+ ){0,2}(?:when (?:was|were)|what|which|who|whom|where|how (?:much|many|long|big|far|high))\b"
)
SUPPOSED: Final = re.compile(r"\b(?:was|were) (?:[\w']{1,30} ){0,6}?(?:supposed|meant) to\b")
BEFORE: Final = re.compile(
    r"\b(?:did|was|were|had)\b[^?]{1,120}? (?:before|prior to|previously|formerly|use(?:d)? to)\b"
)

_WHOSE: Final = r"(?:the|my|our|your|his|her|their|its|that|this|whose|a|an|[^\W_]{1,40}(?:'s|s'))"
_BEFORE_IT: Final = r"(?:old|previous|former|prior|earlier|past|one-time|erstwhile|outgoing|preceding)"
_AT_FIRST: Final = r"(?:original|initial|very first)"
_NOT_OLD: Final = (
    r"(?! (?:friends?|man|men|woman|women|lady|ladies|people|folks?|town|city|age|enough|and|or|is|was|"
    r"the|a|an|my|our|your|his|her|their|its|this|that|to|noon|midnight|tense|\d+|"
    r"e?mails|messages|notes|chats|conversations|meetings|calls|photos|posts|events|tickets)\b)"
)
FORMER_THING: Final = re.compile(
    rf"\b{_WHOSE} {_BEFORE_IT}\b{_NOT_OLD} \w"
    r"|\bex-(?!(?:parte|post|ante|officio|gratia|factory|works|libris|dividend|vivo|situ|voto)\b)\w"
)
FIRST_THING: Final = re.compile(rf"\b{_WHOSE} {_AT_FIRST}\b{_NOT_OLD} \w")
FORMER_NOTE: Final = re.compile(rf"^(?:{_WHOSE} )?{_BEFORE_IT}\b{_NOT_OLD} \w")
FIRST_NOTE: Final = re.compile(rf"^(?:{_WHOSE} )?{_AT_FIRST}\b \w")
CHANGES_NOTE: Final = re.compile(r"^(?:the )?(?:history|evolution|timeline|changes) (?:of|to|in)\b")
NOTE_WORDS: Final = 9
ASKS_FOR_THING: Final = re.compile(
    rf"\b(?:what|which|who|whom)(?:'s| is| are| was| were|) (?:{_WHOSE} )?(?:[^\W_]{{1,40}}'s )?"
    rf"(?:{_BEFORE_IT}|{_AT_FIRST}|ex)\b"
)
"""The thing asked for is a former one, whatever the tense: "what's the old code"."""
DEMAND: Final = re.compile(
    r"^\W*(?:(?:can|could|would|will) you |please |hey |ok |so )*"
    r"(?:(?:tell|give|remind|show|send|find|get|look up|recall|name|list) |"
    r"do you (?:remember|recall|know|have) |i (?:need|want|would like|am looking for) |i'm looking for )"
)
FORMER: Final = re.compile(
    r"\b(?:use(?:d)? to|formerly|previously|prior to|before|until|till|up (?:to|until) (?:then|now|that)|"
    r"earlier on|no longer)\b"
    r"|\b(?:was|were|wasn't|weren't|had been) (?:[\w']{1,30} ){0,6}?(?:supposed|meant|intended|going|"
    r"planning|planned|scheduled|due|expecting|hoping) (?:to|for)\b"
    r"|\binstead of (?:what|which|whom)\b"
)
FIRST: Final = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at first|to begin with|to start with|in the first place|"
    r"(?:at|in) the (?:very )?(?:beginning|start|outset))\b"
    rf"|\b{_WHOSE} (?:very )?first (?!times?\b|days?\b|weeks?\b|months?\b|years?\b|thing\b|half\b|floor\b|"
    r"aid\b|to\b|of\b|and\b|or\b)\w"
)
EARLIER: Final = re.compile(
    r"\b(?:earlier|at the time|at that (?:time|point)|in those days|in the (?:old days|past)|"
    r"back (?:then|when|in)|first|once|ever|for a while|then|in the meantime|those days)\b"
)

SURELY_FORMER: Final = re.compile(
    rf"\b(?:originally|initially)\b|\b(?:before|previously|formerly)\W*$|{CHANGED_FROM.pattern}|{FORMER_THING.pattern}|{FIRST_THING.pattern}"
    rf"|{FORMER_NOTE.pattern}|{FIRST_NOTE.pattern}"
)
ACTS: Final = re.compile(
    r"^\W*(?:(?:and|so|but) )?(?:what |which (?:\w{1,30} )?)?did [\w']{1,30} "
    r"(?:develop|raise|update|adjust|revise|cancel|transfer)\b"
    r"|\braised? (?:[\w']{1,30} )?(?:questions?|points?|issues?|concerns?|hands?|kids?|children|"
    r"money|funds)\b"
    r"|\bdrop(?:ped)? (?:[\w']{1,30} ){0,2}(?:kids?|children|off)\b"
    r"|\bdid (?:i|we|you|he|she|they) (?:move (?:to|in|into|out|here|there)\b|cancel\W*$)"
)
"""Single acts ("raise a question"), in words that otherwise tell of a change of a value."""
BEFORE_AN_EVENT: Final = re.compile(
    r"\bbefore (?=(?:breakfast|lunch|dinner|supper|bed|noon|midnight|work|school)\b)"
    r"|(?<=[\w,] )before (?!(?:i|we|you|he|she|it|they|the (?:new|move|change|switch))\b)"
    r"(?=(?:[\w']{1,30} ?){1,3}\W*$)"
)
ONCE: Final = re.compile(
    r"\bdid (?:[\w']{1,30} ){1,3}?(?:say|tell|mention|ask|promise|discuss|leave|eat|lose)\b"
)
"""Acts that happen once before an event ("what did she say before lunch"): no other value holds since."""
