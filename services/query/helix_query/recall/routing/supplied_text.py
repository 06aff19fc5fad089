"""Instructions about text that the query itself contains: "translate 'x' into French", "sort these: b, a".

The instruction is the query without the supplied text. All its words must be in a closed vocabulary and
one must be an operation, so "fix the grammar in the draft I sent" does not match. `skip` checks the
supplied text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["wording", "data", "code"]

MAX_WORDS: Final = 20
"""Words of an instruction; a longer one does not match."""

LANGUAGES: Final = frozenset([
    "french", "german", "spanish", "italian", "portuguese", "dutch", "polish", "russian", "ukrainian",
    "turkish",
    "arabic", "hebrew", "hindi", "chinese", "mandarin", "cantonese", "japanese", "korean", "swedish",
    "norwegian",
    "danish", "finnish", "greek", "latin", "czech", "english", "hungarian", "romanian", "thai", "vietnamese",
    "indonesian", "irish", "welsh", "catalan", "persian", "farsi", "urdu", "bengali", "swahili",
    "icelandic", "croatian",
    "serbian", "bulgarian", "slovak", "slovenian", "estonian", "latvian", "lithuanian", "tagalog", "malay",
    "esperanto",
])  # fmt: skip
_WORDING: Final = LANGUAGES | frozenset([
    "translate", "translation", "paraphrase", "rephrase", "reword", "rewrite", "proofread", "grammar",
    "grammatical",
    "grammatically", "spelling", "spell", "spelled", "spelt", "punctuation", "punctuate", "typo", "typos",
    "misspelled", "correct", "fix",
    "shorten", "condense", "simplify", "summarize", "summarise", "summary", "expand", "negate", "polite",
    "politely",
    "formal", "formally", "informal", "passive", "active", "tense", "capitalization", "haiku", "rhyme",
    "shorter", "longer", "concise",
    "edit", "polish", "improve", "clearer", "friendlier", "gently", "professional", "casual", "plural",
    "singular",
    "sentence", "question", "synonyms", "synonym", "paragraph", "exciting", "grammar", "contractions",
    "rewriting", "simpler",
    "commas", "capital", "capitals", "pirate", "shakespearean", "emojis", "paraphrased", "spellcheck",
])  # fmt: skip
_DATA: Final = frozenset([
    "format", "reformat", "sort", "order", "alphabetical", "alphabetically", "alphabetize", "reverse",
    "reversed",
    "table", "list", "bulleted", "bullet", "bullets", "numbered", "json", "yaml", "csv", "tsv", "xml", "toml",
    "markdown", "uppercase", "lowercase", "upper", "lower", "capitalize", "capitalise", "title",
    "duplicates", "dedupe", "deduplicate",
    "join", "separate", "split", "count", "letter", "letters", "characters", "character", "words",
    "vowels", "consonants", "syllables",
    "shuffle", "random", "randomly", "repeat", "echo", "bold", "italic", "italics", "backwards",
    "palindrome", "number", "say",
    "string", "dashes", "hyphens", "semicolons", "group", "rank", "largest", "smallest", "length", "type",
    "anagram", "acronym",
    "reply", "print", "caps", "breaks", "accents", "diacritics", "outline", "align", "transpose", "merge",
    "trim", "whitespace", "spaces", "sum",
])  # fmt: skip
_CODE: Final = frozenset([
    "indent", "indentation", "minify", "beautify", "prettify", "pretty-print", "pretty", "escape",
    "unescape", "encode", "decode",
    "base64", "url", "urlencode", "html", "snake", "camel", "kebab", "pascal", "tabs", "semicolons",
    "imports", "rot13", "morse", "md5", "sha256",
    "caesar", "lint", "reindent", "compress", "hex", "binary", "ascii", "slug", "slugify", "camelcase",
    "snakecase",
])  # fmt: skip
_OTHER: Final = frozenset([
    "please", "can", "could", "would", "will", "you", "hey", "ok", "just", "help", "me", "i", "want",
    "need", "like",
    "this", "these", "that", "it", "its", "it's", "them", "the", "following", "below", "text", "phrase",
    "word", "message",
    "line", "lines", "items", "item", "code", "snippet", "data", "values", "value", "numbers", "into",
    "to", "in", "as", "from",
    "with", "without", "by", "a", "an", "of", "for", "and", "or", "all", "each", "every", "more", "less",
    "very", "so",
    "sound", "sounds", "make", "turn", "put", "change", "convert", "write", "give", "get", "do", "does",
    "how", "what",
    "what's", "is", "are", "mean", "means", "which", "right", "wrong", "one", "two", "three", "four",
    "five", "six", "ten", "times",
    "other", "another", "different", "ways", "way", "better", "nice", "nicer", "nicely", "short", "long",
    "clear", "friendly",
    "plain", "simple", "easy", "easier", "exactly", "after", "person", "first", "second", "third", "last",
    "past", "present", "future",
    "there", "many", "have", "has", "at", "only", "using", "use", "style", "tone", "form", "voice",
    "between", "missing", "needed", "where",
    "when", "they", "necessary", "ascending", "descending", "case", "if", "any", "no", "not", "out", "up",
    "on", "remove",
    "add", "replace", "errors", "error", "mistakes", "mistake", "check", "look", "over", "points", "point",
    "column", "columns", "row", "rows",
    "remain", "same", "read", "forwards", "size", "price", "alphabet", "choose", "pick", "select",
    "english", "language", "native", "back",
    "instead", "sentences", "statement", "command", "object", "array", "query", "sql", "css", "javascript",
    "python", "java", "typescript", "function", "loop", "xml",
    "unique", "common", "comma", "separated", "space", "block", "quotes", "properly", "correctly",
    "standard", "some", "be", "was", "were", "verb", "word's", "maximum",
    "beginner", "child", "kid", "year", "old", "audience", "email", "slack", "tweet", "headline",
    "speaker", "speech", "direct", "indirect", "british", "american", "brazilian",
])  # fmt: skip
_ALONE: Final = frozenset([
    "translate", "paraphrase", "rephrase", "reword", "rewrite", "proofread", "spell", "shorten",
    "condense", "alphabetize", "echo",
    "uppercase", "lowercase", "capitalize", "capitalise", "shuffle", "indent", "minify", "beautify",
    "prettify", "decode", "encode",
    "summarize", "summarise", "simplify", "sort", "reverse", "punctuate", "repeat", "translation",
    "dedupe", "spellcheck", "slugify",
])  # fmt: skip
"""Operations that may be the only word before a colon. "fix: ..." and "list: ..." may be titles."""

_OPERATIONS: Final = _WORDING | _DATA | _CODE
_VOCABULARY: Final = _OPERATIONS | _OTHER
_ABOUT_THE_TEXT: Final = re.compile(
    r"\bmy (?=(?:grammar|spelling|punctuation|sentence|english|writing|text|phrase|french|german|spanish)\b)"
)
_MAX_INSTRUCTION: Final = 160
_AFTER_MARK: Final = re.compile(
    rf"(?P<instruction>[^:\n]{{3,{_MAX_INSTRUCTION}}}?)(?: ?: ?\n?|\n+)(?P<text>\S[\s\S]*)"
)
_QUOTED: Final = re.compile(
    "\"[^\"]{1,2000}\"|\u201c[^\u201d]{1,2000}\u201d|(?<!\\w)'[^'\\n]{1,2000}'(?!\\w)|"
    "(?<!\\w)\u2018[^\u2019]{1,2000}\u2019(?!\\w)"
)
_WORD: Final = re.compile(r"[\w'-]+")
_INSTRUCTION_CHARACTERS: Final = re.compile(r"[\w' ,.!?:()/\u2019-]*")
_FLAGS: Final = re.compile(r"\b\d{1,3}\b|\b[a-z]'s\b")

_LANGUAGE = "|".join(sorted(LANGUAGES))
_PLEASE = (
    r"(?:(?:please|hey|ok|can you|could you|would you|just|tell me|give me|say|what's|what is|what are|"
    r"whats) ){0,3}"
)
_LONE = r"(?P<word>[a-z]{2,20})"
_ABOUT_A_WORD: Final = re.compile(
    rf"{_PLEASE}(?:(?:how (?:do (?:you|i|we)|to)|can you) )?spell (?:the word )?{_LONE}|how(?:'s|"
    rf" is) {_LONE.replace('word', 'word2')} spel(?:led|t)|"
    rf"{_PLEASE}(?:an? |the |some |another )?(?:plural|past tense|past participle|opposite|synonyms?|"
    rf"antonyms?|comparative|superlative|"
    rf"another word|rhymes?)(?: form)? (?:of|for|with) (?:the (?:word|"
    rf"verb) )?{_LONE.replace('word', 'word3')}|"
    rf"how many (?:letters|vowels|consonants|syllables|characters) (?:are )?(?:there )?(?:in|"
    rf"does) (?:the word )?{_LONE.replace('word', 'word4')}(?: have)?|"
    rf"(?:what|which)(?: words?)? rhymes? with {_LONE.replace('word', 'word5')}|"
    rf"{_PLEASE}(?:the )?(?:{_LANGUAGE})(?: (?:word|translation|term))? for {_LONE.replace('word', 'word6')}|"
    rf"{_PLEASE}(?:how (?:do|would|can) (?:you|i|we) )?(?:say|"
    rf"translate) {_LONE.replace('word', 'word7')} (?:in|to|into) (?:{_LANGUAGE})"
)
_NO_WORD: Final = frozenset(
    ["it", "this", "that", "them", "my", "our", "his", "her", "their", "me", "us", "out", "names", "name"]
)


@dataclass(frozen=True, slots=True)
class SuppliedText:
    """Text that a query contains, and the kind of operation asked for."""

    kind: Kind
    text: str


def supplied_text(query: str) -> SuppliedText | None:
    """The supplied text of a query that is otherwise an instruction about it; else None."""
    marked = _AFTER_MARK.fullmatch(query)
    if marked is not None:
        kind = _instructed(marked["instruction"], marked=True)
        if kind is not None:
            return SuppliedText(kind, marked["text"])
    texts = _QUOTED.findall(query)
    if not texts:
        return None
    kind = _instructed(_QUOTED.sub(" ", query), marked=False)
    return None if kind is None else SuppliedText(kind, "\n".join(text[1:-1] for text in texts))


def _instructed(instruction: str, *, marked: bool) -> Kind | None:
    """The kind of operation; None if the words are not all of the vocabulary or hold no operation."""
    if len(instruction) > _MAX_INSTRUCTION or not _INSTRUCTION_CHARACTERS.fullmatch(instruction):
        return None
    folded = _ABOUT_THE_TEXT.sub("", _FLAGS.sub("", instruction.lower().replace("\u2019", "'")))
    words = _WORD.findall(folded)
    if not 1 <= len(words) <= MAX_WORDS or not _VOCABULARY.issuperset(_parts(words)):
        return None
    operations = _OPERATIONS.intersection(_parts(words))
    if not operations or (marked and len(words) == 1 and not operations & _ALONE):
        return None
    if operations & _CODE:
        return "code"
    return "wording" if operations & _WORDING else "data"


def _parts(words: list[str]) -> list[str]:
    return [part for word in words for part in ((word,) if word in _VOCABULARY else word.split("-")) if part]


def asks_about_word(query: str) -> bool:
    """Whether a query (no end punctuation) asks for the spelling, form, rhyme or letters of one word."""
    found = _ABOUT_A_WORD.fullmatch(query[:1].lower() + query[1:]) or _ABOUT_A_WORD.fullmatch(
        _lower_language(query)
    )
    return found is not None and not _NO_WORD.intersection(part for part in found.groups() if part)


def _lower_language(query: str) -> str:
    """The query with its first word and the names of languages in lower case."""
    words = query.split()
    return " ".join(
        word.lower() if index == 0 or word.lower() in LANGUAGES else word for index, word in enumerate(words)
    )
