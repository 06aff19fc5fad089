"""Searches in languages other than English, and unchanged analysis of English."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.artifacts.lexicon.exact_tokens import exact_tokens
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter

SET: Final = tomllib.loads(Path(__file__).with_name("multilingual.toml").read_text(encoding="utf-8"))
MEMORIES: Final = [pair["memory"] for pairs in SET.values() for pair in pairs]
TENANT: Final = Selection("acme")
FIRST: Final = 5


def lexicon_of(folder: Path, texts: list[str]) -> LexiconReader:
    """An index of these texts; the ordinal is the index in the list."""
    writer = LexiconWriter.create(folder / "lexicon")
    plain: dict[str, Any] = {"owner": "", "audience": ("*",), "type": "episodic", "project_id": ""}
    writer.upsert(
        [
            LexiconEntry(ordinal=at, tenant_id="acme", session_id="s", event_at=at, text=text, **plain)
            for at, text in enumerate(texts)
        ]
    )
    writer.commit()
    return LexiconReader(folder / "lexicon", scratch=folder / "scratch")


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> LexiconReader:
    """All memories of all languages in one index."""
    return lexicon_of(tmp_path_factory.mktemp("languages"), MEMORIES)


def share_found(lexicon: LexiconReader, languages: tuple[str, ...], asked: str = "question") -> float:
    """Share of the questions whose memory is among the first five hits."""
    found = [
        pair["memory"] in [MEMORIES[hit] for hit in lexicon.search(pair[asked], TENANT, limit=FIRST).ordinals]
        for language in languages
        for pair in SET[language]
    ]
    return sum(found) / len(found)


@pytest.mark.parametrize("language", ["zh", "ja", "ko", "ru"])
def test_a_question_in_another_script_finds_its_memory(lexicon: LexiconReader, language: str) -> None:
    """The question shares some words with the memory, in other forms."""
    assert share_found(lexicon, (language,)) >= 0.9


@pytest.mark.parametrize("asked", ["question", "bare"])
def test_a_question_with_or_without_accents_finds_its_memory(lexicon: LexiconReader, asked: str) -> None:
    """A question without accents finds text with accents."""
    assert share_found(lexicon, ("fr", "de", "es"), asked) == 1.0


def test_the_written_form_scores_higher(tmp_path: Path) -> None:
    """Both forms find both texts; the same spelling comes first."""
    lexicon = lexicon_of(tmp_path, ["a resume for the job", "a résumé for the job", "tea at noon"])
    assert lexicon.search("résumé", TENANT, limit=9).ordinals.tolist() == [1, 0]
    assert sorted(lexicon.search("resume", TENANT, limit=9).ordinals.tolist()) == [0, 1]


def test_composed_and_other_widths_are_the_same_word() -> None:
    """Unicode normal forms, half and full width, soft hyphens."""
    assert stems("cafe\u0301") == stems("caf\u00e9")
    assert stems("\uff8a\uff9f\uff9d") == stems("\u30d1\u30f3")
    assert stems("\uff28\uff45\uff4c\uff49\uff58 co\u00adoperates") == stems("Helix cooperates")


def test_bigrams_and_stems_of_other_scripts() -> None:
    """Bigrams of a run and its Han characters; the stemmer of a language for its own script."""
    assert stems("我养猫") == ["我养", "养猫", "我", "养", "猫"]
    assert stems("고양이를") == ["고양", "양이", "이를"]
    assert stems("API网关v2") == ["api", "网关", "网", "关", "v2"]
    assert stems("собаки українська") == ["собаки", "українська", "собак"]
    assert stems("The Helix™ runs 1½ miles") == ["helix", "run", "1", "1", "2", "mile"]


def test_english_is_analysed_as_before() -> None:
    """Typographic quotes, dashes and currency signs do not make a text non-English."""
    text = "She\u2019s running \u201cmarathons\u201d — for £5… and the dogs\u00a0bark"
    assert stems(text) == stems('She\'s running "marathons" - for 5... and the dogs bark')
    assert stems(text) == ["run", "marathon", "5", "dog", "bark"]


def test_a_name_is_found_in_a_text_without_spaces() -> None:
    """Code inside a Chinese, Japanese or Korean sentence."""
    text = "请检查config.yaml文件里的MAX_RETRIES，错误码是E1234。「設定画面」を開く"  # noqa: RUF001 - meant
    assert {"config.yaml", "max_retries", "e1234", "設定画面"} <= set(exact_tokens(text))
    assert "settings.py" in exact_tokens("settings.py를 고쳤다")
