"""Patterns of the static part of a profile: who somebody is, and what they like, need and refuse.

All are matched on text as `spelling.as_read` gives it, except `SHOUTED`. Every repetition is bounded.
"""

from __future__ import annotations

import re
from typing import Final

from helix_shared.naming.persons import OCCUPATION_PATTERN, ROLE_PATTERN

_AM = r"(?:i'm|i am)"
_SOFT = (
    r"(?:(?:really|absolutely|actually|always|usually|also|much|quite|do|just|mostly|still|so|very|too"
    r"|kinda) ){0,2}"
)
_PAST = (
    r"(?:\w+ed|was|were|had|got|went|did|saw|came|said|told|knew|thought|made|took|left|found|heard|read|gave"
    r"|met|felt|sent|kept|been|has|have)"
)
_OTHER = r"(?:he|she|they|(?:my|our) \w+|dad|mum|mom|grandma|grandpa|everyone|nobody)"
RELATIVE = (
    r"(?:wife|husband|partner|fianc[ée]e?|girlfriend|boyfriend|spouse|ex|mother|father|mum|mom|dad|parents?"
    r"|sister|brother|siblings?|twin|son|daughter|kids?|child(?:ren)?|baby|toddler|niece|nephew|aunt|uncle"
    r"|cousin|grand(?:mother|father|ma|pa|son|daughter|kids?|parents?)|(?:mother|father|sister"
    r"|brother)-in-law"
    r"|boss|manager|supervisor|advisor|landlord|landlady|flatmate|housemate|room ?mate|neighbou?r|colleague"
    r"|assistant|coach|doctor|gp|dentist|therapist|teacher|best friend|friend|dog|cat|puppy|kitten|horse"
    r"|parrot)"
)
_ALARM = (
    r"(?:migraines?|headaches?|hives|rash(?:es)?|heartburn|nightmares?|cramps|palpitations|asthma|nausea)"
)
_BODY = (
    r"(?:back|knees?|hip|hips|heart|lungs?|shoulders?|stomach|eyes?|ears?|wrists?|ankles?|neck|skin|feet"
    r"|foot|hands?)"
)
_DIET = (
    r"(?:vegan|vegetarian|veggie|pescatarian|halal|kosher|teetotal|sober|coeliac|celiac|diabetic|asthmatic"
    r"|(?:lactose|gluten|dairy|nut|sugar|alcohol|caffeine)[- ](?:free|intoleran(?:t|ce)))"
)

CONSTRAINT: Final = re.compile(
    rf"\ballerg(?:ic|y|ies)\b|\bintoleran(?:t|ce)\b|\b{_DIET}\b|^(?:the )?(?:lactose|gluten|nuts|peanuts"
    rf"|shellfish)\b"
    rf"|\b(?:gives?|giving|gave) (?:me|him|her|us) (?:a |an |the )?(?:\w+ )?{_ALARM}\b"
    r"|\bmakes? (?:me|him|her) (?:\w+ )?(?:sick|ill|dizzy|itch|sneeze|throw up|anxious|nauseous|swell)\b"
    rf"|\b(?:bad|weak|dodgy|injured|artificial|sore) {_BODY}\b|\bwith (?:my|his|her) {_BODY}\b"
    r"|\b(?:can't|cannot|can not|mustn't|must not|not allowed to|not supposed to|unable to|won't"
    r"|will not"
    r"|refuse to|refuses to|don't|do not|never) (?:\w+ ){0,1}"
    r"(?:eat|drink|have any|tolerate|digest|wear|fly|swim|drive|climb|smoke|touch|go near|sleep (?:on|in"
    r"|with))\b"
    r"|\bnever (?:ever|again)\b|,? ever(?:[,.!]|$)|\b(?:don't|do not) (?:you )?(?:ever|dare)\b"
    r"|\bplease (?:don't|do not|never|no|avoid|stop)\b|\bno [\w'/-]+(?: [\w'/-]+){0,5},? (?:please"
    r"|ever)\b"
    r"|\b(?:stay|keep|staying|keeping) (?:me )?(?:away|off|out|clear) (?:from|of)\b|\bavoid(?!ed|ing|s)\b"
    rf"|^(?:\w+,? ){{0,3}}(?:never|don't ever) (?!mind\b|{_PAST}\b)\w+"
    r"|^(?:\w+,? ){0,3}don't (?!know\b|think\b|mind\b|have\b|see\b|remember\b|feel\b|need\b|worry\b)\w+"
    r" (?:\w+ ){0,4}?(?:anything|anyone|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?|before|after|without"
    r"|unless|during|at (?:night|weekends)|in the (?:mornings?|evenings?|afternoons?))\b"
    r"|\balways (?:use|ask|show|send|write|put|keep|add|run|check|include|start|end|leave|book|call|go"
    r"|round|reply"
    r"|answer|sign|cc|show|tell|wait|double|wrap|format|name|tag|squash|rebase)\b"
    r"|(?:^|,) ?always[.!]?$|\bfrom now on\b|\bas a rule\b|\bby default\b"
    r"|\b(?:nothing|anything|something|somewhere|someone|food|drinks?|places?) (?:but |\w+ )?(?:without"
    r"|with no|free of)\b"
    r"|^(?:\w+,? ){0,4}nothing (?:with|from|containing|before|after|above|over|under|below|that|too)\b"
    r"|\bi refuse\b|\brefuses to\b|\bwithout (?:my|an? \w+ from me|asking|me (?:saying|agreeing))\b"
    r"|\b(?:only|not) (?:before|after|if|unless|until|when) (?:i|you|we)\b|\b(?:at most|at the latest"
    r"|no (?:more|later|earlier) than)\b"
    r"|\bmy (?:limit|maximum|max|budget|ceiling) (?:is|was|of)\b|\b(?:has|have|had better|needs?) to be\b"
    r"|\b(?:one|small|short|separate|new) [\w ]{1,30} (?:each|per|at a time)\b"
    r"|\bin (?:commits?|commit messages?|pull requests?|prs?|code|tests?|comments?|docs|reviews?"
    r"|meetings)\b.{0,40}\b(?:ever|always|never|no|not)\b"
    r"|\b(?:no|not|never|always)\b.{0,40}\bin (?:commits?|commit messages?|pull requests?|prs?|code|tests?"
    r"|comments?|reviews?)\b"
)  # fmt: skip
SHOUTED: Final = re.compile(r"(?<![A-Z] )\b(?:NOT|NEVER|NO|ALWAYS|ONLY|DON'T)\b(?! [A-Z]{2})(?=\s+\w)")
"""One stressed word in a text that is not all capitals; matched on the text as written."""

_A_TOOL = r"(?!(?:to|it|this|that|them|the|an?|another|up|my|his|her|our|your|their|both|\d)\b)"
PREFERENCE: Final = re.compile(
    rf"\bi(?:'d| would)? {_SOFT}(?:prefer|loathe|detest|adore|dislike|despise"
    r"|(?:can't|cannot|can not) (?:stand|bear|abide))\b"
    rf"|\bi {_SOFT}(?:love|hate|like|enjoy|fancy)\b(?! (?:that|this|it|you|the idea|how|him|her|them"
    rf"|where)\b)"
    r"|\bi'd rather\b|\brather (?:have|not|than)\b|\bmy (?:\w+ ){0,2}favou?rites?\b"
    r"|\bfavou?rite [\w ]{1,40} (?:is|are)\b"
    r"|\bnot (?:a|my|much of a|really a|really my) (?:big |huge )?(?:fan|thing|cup of tea|style|taste)\b"
    rf"|\b{_AM} (?:more of |not |really |a bit of |very much |definitely )?(?:an? )?[\w-]+ person\b"
    rf"|\b{_AM} {_SOFT}(?:not )?(?:into|fond of|keen on|sick of|tired of|scared of|afraid of|terrified of"
    rf"|used to|picky|fussy"
    r"|sensitive to|obsessed with|crazy about|mad about|hooked on)\b"
    r"|\b(?:suits?|bothers?|annoys?|bugs|drives?|drove|relaxes|calms|bores?) me\b|\bup the wall\b"
    r"|\bpet peeve\b"
    r"|(?:^|[,.;:] ?|\b(?:and|but) )(?![^,.;:]{0,40}\b(?:someone|somebody)\b)(?:\w+,? ){0,2}"
    r"(?:an? |the |some )?[\w'-]+(?: [\w'-]+){0,4}(?<!\bok)(?<!\bokay)(?<!\bfine)(?<!\bgood)(?<!\bworks)"
    r"(?<!\bit)(?<!\bthis)(?<!\bthat)(?<!\bnews) for (?:me|us)\b(?! (?:to|too|and|because))"
    r"|\bi (?:always|usually|only|mostly|normally|generally|rarely|hardly ever|tend to|never) "
    rf"(?!{_PAST}\b)\w+"
    r"|\bi (?:don't|do not) (?:really |actually |usually )?(?:like|want|use|watch|trust|care for"
    r"|listen|read|do (?!that|it|this))\b"
    rf"|(?<!when )(?<!if )(?<!whenever )(?<!once )\bi {_SOFT}use {_A_TOOL}\w+"
    rf"|\b(?:i|we)(?:'ve| have)? (?:just |finally )?switched (?:from|to) {_A_TOOL}[\w.+-]+"
    r"|\bi want (?!to\b|you\b)\w+|\bi (?:need|want) (?:it|them|everything|things|my \w+) (?:\w+ ){0,2}\w+"
    rf"|\b{_OTHER} (?:also |really |always |only |still )?(?:wants?(?! to\b)"
    r"|(?:likes?|loves?|hates?)(?! it\b)|prefers?|insists?|refuses?"
    r"|(?:won't|doesn't|don't|can't|never) (?:eats?|drinks?|likes?|wants?|wears?|stand|watch))\b"
    r"|\b(?:just |please |rather |better |always )(?:write|text|e-?mail|call|message|ping|ring"
    r"|dm) (?:to )?me\b"
    r"|\b(?:shoe |ring |collar |dress |jacket )?size (?:is )?(?:\d{1,2}|xxs|xs|s|m|l|xl|xxl)\b(?![.,]\d"
    r"| ?[kmgt]i?b\b)"
    r"|\bthe (?:older|quieter|smaller|bigger|simpler|warmer|darker|cheaper) the better\b|\bwhat i (?:like"
    r"|love|hate|want) (?:is|about)\b"
)  # fmt: skip
_NOW = r"(?:(?:also|still|now|both|currently|actually|just|mostly|mainly|only|already) ){0,2}"
_NOT_A_ROLE = (
    r"(?!bit\b|little\b|lot\b|few\b|while\b|fool\b|mess\b|minute\b|second\b|moment\b|wreck\b"
    r"|couple\b|hours?\b|days?\b|weeks?\b|months?\b|years?\b|\w+ (?:person|late)\b)"
)
_SINCE: Final = r"(?:(?:now|officially|currently|finally) ){0,2}"
_ROLE: Final = (
    r"the (?:new |only |local )?\w+ (?:of|for|at|on|in)\b"
    r"|(?:the|their)(?! (?:only|last|first|next|wrong|same|new)? ?(?:one|guy|person|kid)\b)"
    r"(?: [\w&'-]+){2,4}? (?:of|for|at)\b"
)
_WHEN: Final = (
    r"(?: (?:yesterday|today|recently|(?:last|this|on|in) [a-z]+|(?:an?|one|two|three|four|five|six|\d{1,2})"
    r" (?:days?|weeks?|months?|years?) ago))?"
)
"""When it was, between a verb and the words behind it."""
MOVED_HOME: Final = (
    rf"{_WHEN} (?:house|in together|in with|into|to (?:an? |the |our )?(?:\w+ )?"
    r"(?:flat|house|apartment|cottage|place|farm|street|road|town|village))"
)
"""Behind "we moved": it was the home, and no thing of theirs."""
_NO_GROUP = (
    r"(?!(?:an?|the|my|our|your|their|in|us|him|her|them|you|it|this|that|as|at|on|for|from|up|back|after|and"
    r"|late|early|yesterday|today|last|to|two|some|another|forces|hands|via|with|by|when|because)\b)"
)
IDENTITY: Final = re.compile(
    r"\bmy (?:full |last |first |middle |nick|sur)?name(?:'?s(?! are\b)| is)\b"
    r"|\bcall me (?!(?:back|when|whenever|if|at|on|in|later|tomorrow|today|tonight|asap|now|after|before"
    r"|again|once|first|from|as|any|please|pls|crazy|until|till|about|for|with|during|between)\b)\w+"
    r"|\bmy (?:new |mobile |cell |phone |private ){0,2}(?:number|mobile|cell)(?:'s| is)\b(?=[^.!?\n]{0,20}\d)"
    rf"|\b{_AM} {_SINCE}(?:an? {_NOT_A_ROLE}[\w-]+|{_ROLE}"
    rf"|from (?!the (?:shop|office)|home|work)\w+"
    r"|originally from|married|divorced|widowed|single\b|engaged|retired|pregnant|self-employed|freelance"
    r"|based in|born in"
    r"|(?:1[5-9]|[2-9]\d)(?: years old| now\b|[,.!]| and\b|$))"
    rf"|^(?:\w+[,!.]? ){{0,4}}{_AM} [\w-]+, (?:an? |the |\d)"
    rf"|\bi(?:'ve| have)? {_NOW}(?:got|adopted) (?:an? |two |three )(?:new |rescue |little )?"
    r"(?:dogs?|pupp(?:y|ies)|cats?|kittens?|horses?|rabbits?|parrots?|tortoises?|baby|babies|twins)"
    r"(?=\W*$|[.,!?;]| (?:called|named|from|and|yesterday|last|this|who|with|in|at)\b)"
    rf"|\b(?:i|we) {_NOW}live (?:in|at|on|near|with|by|alone|above|next)\b"
    rf"|\b(?:i|we)(?:'ve| have|'re|'m| are| am)? {_NOW}(?:been )?liv(?:ed|ing) (?:in|at|on|near|with)\b"
    rf"|\bi(?:'ve| have)? {_NOW}(?:just |recently |finally )?(?:moved|relocated){_WHEN}"
    r" (?:to|into|in with|back)\b"
    rf"|\bwe(?:'ve| have)? {_NOW}(?:just |recently |finally )?(?:relocated"
    rf"|moved{MOVED_HOME})\b"
    rf"|\b(?:i|we) {_NOW}work (?:at|for|as|in|on|part|full|nights|shifts|from home|with)\b"
    rf"|\b{_AM} {_NOW}(?:working (?:as|at|for) (?:an? |the )?(?!it\b|this\b|that\b)\w|employed|a partner at)"
    rf"|\bi {_NOW}(?:started|start|began) (?:(?:work|working|a (?:new )?job) )?(?:as (?:an? |the )?\w"
    r"|at (?!\d|the (?:end|beginning|start)\b)\w)"
    r"|\bi(?:'ve| have)? (?:got|have|took|found) (?:a|the) (?:new |part-time |full-time )?job"
    r" (?:at|as|in|with)\b"
    rf"|\bi(?:'ve| have)? {_NOW}(?:turned (?:1[5-9]|[2-9]\d)\b|joined {_NO_GROUP}\w)"
    rf"|\bi(?:'ve| have)? {_NOW}signed (?:(?:(?:a|my|the) )?(?:\w+ )?(?:contract|deal) )?(?:with|for)"
    rf" (?:{_NO_GROUP}(?!(?:\w+ )?(?:ink|pens?|pencil)\b)\w"
    r"|an? (?:\w+ )?(?:agent|agency|label|publisher|club|team|studio)\b)"
    r"|\bi(?:'ll| will|'m| am)? (?:now )?(?:tak(?:e|ing)|took) over as (?:an? |the )?"
    r"(?!(?:soon|far|long|of|i|you|he|she|they|we|it|dad|mum|mom|nobody|everyone|favou?r|well|planned|agreed)\b)\w"
    r"|\bi(?:'ve| have|'m| am)? (?:(?:just|finally|recently|also) ){0,2}"
    r"(?:got|was|been|getting|being) promoted\b"
    rf"|\b(?:i|we)(?:'ve| have)? {_NOW}got (?:married|engaged|divorced)\b"
    r"|\b(?:my|our) (?:new |old |home |work |current )?(?:address|flat|house|apartment|job) is\b"
    r"|\bi (?:run|own|teach|study|volunteer at|manage|coach) (?!out\b|into\b|it\b|that\b|the risk)\w+"
    r"|\bmy (?:job|occupation|birthday|address|phone(?: number)?|e-?mail|pronouns|nationality"
    r"|mother tongue|native language|time ?zone|blood type|star sign|religion) (?:is|are)\b"
    r"|\bi was born\b|\bi speak [a-z]+|\bi have (?:two|three|four|five|six|an? (?:son|daughter|kid|child"
    r"|dog|cat|wife|husband|brother|sister|twin))\b"
    r"|\bi (?:play|sing) (?:the )?(?:\w+ )?(?:piano|guitar|violin|cello|drums|bass|flute|trumpet|saxophone"
    r"|accordion|soprano|alto|tenor)\b"
)  # fmt: skip
BACKGROUND: Final = re.compile(
    r"\bi (?:studied|graduated|trained as|served|grew up|emigrated|immigrated|majored)\b"
    r"|\bi used to (?:be|work|live|play|teach|run|sing|smoke|row|dance|drive|own|have)\b"
    r"|\bi(?:'ve| have) (?:worked|been (?:an? )\w+|played|taught|lived|served|lost|had) .{0,40}\b(?:years?"
    r"|since|decades?)\b"
    r"|\b\w+ years (?:of experience|as an?|in (?:the|a|this))\b|\bwhen i was (?:a (?:kid|child|student"
    r"|teenager|boy|girl)|young|little|\d)\b"
    r"|\b(?:i|we)(?:'ve| have)? (?:just |finally )?(?:(?:quit|lost|left) my (?:\w+ )?job"
    r"|(?:broke|broken|split) up with)\b"
    r"|\bi moved (?:here|to|from) .{0,40}\b(?:ago|in (?:19|20)\d\d|as a)\b|\bi did (?:two|three|four|five"
    r"|six|\d+) ye?a?rs\b"
)  # fmt: skip
RELATIONSHIP: Final = re.compile(
    rf"\b(?:my|our) (?:ex-?|late |older |younger |elder |little |big |twin |step-?|half-?|new |old "
    rf"|eldest |youngest )?{RELATIVE}"
    r"(?:(?:'s| is| was| has| had| lives| works| studies| teaches| plays| turns| does (?:the|most|all)"
    r"| called| named|,) |'?s name)"
    rf"|^(?:the )?new (?:{ROLE_PATTERN}|doctor|manager|teacher|coach|flatmate|housemate) is (?:called )?"
    r"(?!(?:an?|the|not|so|very|really|my|our|on|in|at|off|here)\b)"
    r"(?:(?:dr|mrs?|ms|prof)\.? )?[a-z'-]+(?: [a-z'-]+)?(?=[.,!(]|$)"
    r"|^(?:(?:and|so|also|now) )?(?:the|both|all (?:the|my|our)|both (?:the|my|our))"
    r" (?:kids|children|twins|boys|girls) (?:go to|love|like|hate|play|start|finish)\b"
    rf"|\b(?:is|'s) my (?:\w+ )?{RELATIVE}\b|\b(?:wife|husband|son|daughter|sister|brother|dog"
    rf"|cat)'s name is\b"
)  # fmt: skip
NAMED_RELATIVE: Final = re.compile(
    rf"\b(?i:my|our) (?:\w+ )?(?i:{RELATIVE}) [A-Z][a-z]+|\b[A-Z][a-z]+,? (?:is )?(?i:my"
    rf"|our) (?:\w+ )?(?i:{RELATIVE})\b"
)
"""A relative by name, matched on the text as written."""
OWN_RELATIVE: Final = re.compile(rf"\b(?:my|our) (?:\w+ )?{RELATIVE},? (?:called |named |is )?$")
"""The words in front of the name of a relative."""
_GREETS = (
    r"^\W*(?:hi|hey+|hello|hiya|good (?:morning|evening|afternoon))\b[^a-z]{0,3}"
    r"(?:(?:all|there|everyone)\b\W*)?"
)
NAMES_ITSELF: Final = re.compile(
    rf"(?:^|{_GREETS})(?P<here>(?!(?:no|any|some|every)(?:body|one)\b)[a-z][\w'-]+) here\b(?!'s)"
    rf"|{_GREETS}(?:i'm|i am|it's|this is) (?P<name>(?![a-z]+ing\b)[a-z][a-z'-]{{1,20}})"
    r"(?: [a-z][a-z'-]{1,20})?(?=[.,!]|$| and\b| here\b)"
    r"|^\W*(?:i'm|i am) (?P<maker>[a-z][a-z'-]{1,20}), i"
    r" (?:do (?!not\b|that\b|it\b|this\b|so\b)|make|write|teach|draw|paint|build|design|sell)\b"
    rf"|(?:^|{_GREETS})(?:my name(?:'s| is)|call me) (?P<called>[a-z][a-z'-]{{1,20}})(?=[.,!]|$| and\b)"
)
"""Authors say who they are: "hi, im noor", "noor here", "im dana, i do illustration", "my name is Bea"."""
LISTS_ITSELF: Final = re.compile(r"(?:^|, |\band )me \([A-Z][a-z\u00e0-\u00ff]+\)")
"""The same in a list of others, matched on the text as written: "Jan does infra, me (Shreya) on payments"."""
DESCRIBES_ITSELF: Final = re.compile(
    r"^(?:an? )?(?:(?:\d\w*|retired|trainee|junior|senior|head|chief|single|stay-at-home|freelance"
    r"|self-employed|part-time|full-time|newly|qualified|former|ex|final|year|yr"
    r"|primary|secondary|school|software|web|data|night"
    rf"|cardiac|civil|staff|line|project)[ -]){{0,3}}{OCCUPATION_PATTERN}"
    r"(?: (?:on|at|in|for|from|of|with|by)\b|[,(&]|\W*$)"
)
"""The sentence behind such words, where it has no subject: "RN on a cardiac ward in Dublin"."""
