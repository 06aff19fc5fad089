"""Ingest on text of scripts without spaces and with other punctuation."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from helix_ingest.extraction.acts.answered_question import answered_question
from helix_ingest.extraction.score import salience
from helix_ingest.extraction.segment import segment
from helix_ingest.extraction.values import LoggedEvent
from helix_memory.events import MessageEvent
from helix_shared.encoders.minhash import minhash
from helix_shared.text.scripts import word_count

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def turn(number: int, speaker: str, text: str) -> MessageEvent:
    """A turn of one session."""
    return MessageEvent(
        event_id=f"e{number}", tenant_id="t", session_id="s", role="user", speaker=speaker, text=text
    )


def logged(event: MessageEvent) -> LoggedEvent:
    """An event in the log."""
    return LoggedEvent(event, int(event.event_id[1:]), NOW)


def similarity(one: str, other: str) -> float:
    """Estimated Jaccard similarity."""
    return float(np.mean(np.frombuffer(minhash(one), "<u4") == np.frombuffer(minhash(other), "<u4")))


def test_two_letters_of_a_script_without_spaces_count_as_a_word() -> None:
    """Chinese, Thai; words of a script with spaces count as before."""
    assert word_count("we don't know") == 4
    assert word_count("我们今天去杭州") == 4
    assert word_count("use Redis 缓存") == 3
    assert word_count("고양이를 좋아해요") == 2


def test_a_changed_word_leaves_a_clause_similar() -> None:
    """Two versions of one Chinese sentence share most of it; two subjects share little."""
    stated = "支付服务的数据库已经从旧机房迁移到了新机房并且完成了验证"
    assert similarity(stated, stated.replace("验证", "测试")) > 0.6
    assert similarity(stated, "我家的猫平时最喜欢睡在窗台上晒太阳") < 0.2


def test_a_long_sentence_of_chinese_is_worth_as_much_as_words_of_english() -> None:
    """A bare question counts less, with any question mark."""
    told = "我们决定把支付服务的数据库迁移到新的集群上线时间定在六月底由王磊负责"
    assert salience(told, "episodic") > salience("数据库", "episodic") + 0.05
    assert salience(told + "\uff1f", "episodic", "question") < salience(told, "episodic")


def test_a_short_answer_takes_a_question_with_a_full_width_mark() -> None:
    """Only the question, and not before a question in return or thanks."""
    asked = logged(turn(1, "ann", "我看过日程了。你的航班是几点\uff1f"))
    question = "你的航班是几点\uff1f"
    found = answered_question(logged(turn(2, "bob", "下午三点")), [asked])
    assert found is not None
    assert found.text == question
    for text in ("你问哪天\uff1f", "谢谢"):
        assert answered_question(logged(turn(2, "bob", text)), [asked]) is None


def test_sentences_end_where_no_space_follows() -> None:
    """Pieces of a long Chinese text end at its full stops, and one without any is cut small enough."""
    text = "数据库迁移已经完成了。" * 30 + "「真的吗\uff1f」" + "下一步是验证备份\uff01" * 30
    pieces = segment(text, most_tokens=60, count_tokens=len)
    assert all(piece.text[-1] in "。\uff01\uff1f」" for piece in pieces)
    assert "".join(piece.text for piece in pieces) == text
    assert max(len(piece.text) for piece in segment("数" * 900, most_tokens=250, count_tokens=len)) <= 250
