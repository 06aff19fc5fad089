"""The published recipes end to end: their channels, their thresholds, their other words."""

from typing import Any

import pytest

pytestmark = pytest.mark.integration

OWN_PROFILE = """
name = "entities"
description = "the entity channel alone"
[retrieve]
channels = ["entity"]
[fuse]
k = 60
[expand]
enabled = false
[rank]
method = "blend"
fused_share = 1.0
"""


def texts(reply: Any) -> list[str]:
    """Texts of a reply, best first."""
    return [found.memory.text for found in reply.memories]


def test_engram_asks_four_channels(answering: Any) -> None:
    """All recipes find Jan Nowak; the best memory scores 1, and no score is below .6."""
    service, _ = answering
    reply = service.recall("where was Jan Nowak born", ranking_profile="engram")
    assert set(reply.memories[0].channels) == {"dense", "lexical", "entity", "associative"}
    assert reply.memories[0].memory.text.startswith("Jan Nowak was born")
    assert reply.memories[0].score == pytest.approx(1.0)
    assert min(found.score for found in reply.memories) >= 0.6
    assert list(reply.degraded) == []


def test_cems_returns_five_within_its_threshold(answering: Any) -> None:
    """Limit 5; the relevance of .3 is what a lone cosine of the corpus cannot reach."""
    service, _ = answering
    reply = service.recall("What did Caroline plant?", ranking_profile="cems")
    assert texts(reply)[0] == "Caroline planted tomatoes in the garden."
    assert len(reply.memories) <= 5


def test_cems_prefers_the_callers_project(start: Any, corpus: Any) -> None:
    """1.3 against .8: of two memories that are nearly as good that of the project is first."""
    corpus.add(
        [
            {"text": "Deploys run on Mondays.", "name": "a", "project_id": "a"},
            {"text": "Deploys run on Tuesdays.", "name": "b", "project_id": "b"},
            {"text": "The canteen closes at noon.", "name": "c", "project_id": "c"},
        ]
    )
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(lambda one: one.health() == "SERVING")
    for project, expected in (("a", "Mondays"), ("b", "Tuesdays")):
        reply = service.recall("when do deploys run", ranking_profile="cems", project_id=project)
        assert expected in texts(reply)[0]


def test_cems_finds_a_taste_by_its_statement(start: Any, corpus: Any) -> None:
    """The answer shares no word with the question but the subject; the statement's own words find it."""
    noise = [f"A recommendation for a good editor, number {number}, was sent around." for number in range(40)]
    corpus.add([{"text": text, "role": "assistant"} for text in noise])
    corpus.add(
        [{"text": "I prefer Neovim as my editor, with two plugins.", "user_id": "ann", "owner": "ann"}]
    )
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(lambda one: one.health() == "SERVING")
    reply = service.recall("Can you recommend a good editor?", user="ann", ranking_profile="cems")
    assert any("Neovim" in text for text in texts(reply))
    plain = service.recall("Can you recommend a good editor?", user="ann", ranking_profile="helix-reference")
    assert "preference" in plain.route.intents


def test_the_entity_channel_alone_stays_within_the_scope(start: Any, answering: Any, tmp_path: Any) -> None:
    """Maria Nowak is linked to foreign, deleted, expired and restricted memories: none of them comes."""
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "entities.toml").write_text(OWN_PROFILE, encoding="utf-8")
    root = answering[0].log.parent / "data"
    service = start(root, HELIX_QUERY_PROFILES_DIR=str(tmp_path / "profiles"))
    service.wait_for(lambda one: one.health() == "SERVING")

    def asked(**caller: Any) -> set[str]:
        return set(texts(service.recall("Who is Maria Nowak?", ranking_profile="entities", **caller)))

    everyone = {
        "Jan Nowak was born in Gdansk; his mother was Maria Nowak.",
        "Polish Summer is a film directed by Jan Nowak.",
        "Gdansk lies on the Baltic coast.",
    }
    assert asked() == everyone
    assert asked(user="ann") == everyone | {"A remark about a birthday present."}
    assert asked(principals=["board"]) == everyone | {"A remark for the board."}
    assert asked(tenant="globex") == set()


DENSE_GRAPH = """
name = "helix"
description = "PageRank may pass next to nothing"
[expand]
edge_budget = 100
[rank.weights]
episodic   = { sim = 1.0, recency = 0.0, salience = 0.0, confidence = 0.0, graph = 0.5 }
semantic   = { sim = 1.0, recency = 0.0, salience = 0.0, confidence = 0.0, graph = 0.5 }
procedural = { sim = 1.0, recency = 0.0, salience = 0.0, confidence = 0.0, graph = 0.5 }
decision   = { sim = 1.0, recency = 0.0, salience = 0.0, confidence = 0.0, graph = 0.5 }
code       = { sim = 1.0, recency = 0.0, salience = 0.0, confidence = 0.0, graph = 0.5 }
"""


@pytest.mark.long
def test_a_graph_too_dense_for_pagerank_is_walked_and_said_so(start: Any, corpus: Any, tmp_path: Any) -> None:
    """The service becomes ready with such a profile as its default, and answers from the bounded walk."""
    corpus.add([{"text": f"Jan Nowak met guest {n}.", "entities": ["jan nowak"]} for n in range(40)])
    corpus.publish()
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    (profiles / "helix.toml").write_text(DENSE_GRAPH, encoding="utf-8")
    service = start(corpus.root, HELIX_QUERY_PROFILES_DIR=str(profiles))
    service.wait_for(lambda one: one.health() == "SERVING")
    reply = service.recall("whom did Jan Nowak meet", explain=True)
    assert list(reply.degraded) == ["pagerank"]
    assert reply.explanation.graph_method == "walk"
    assert len(reply.memories) == 10
    plain = service.recall("whom did Jan Nowak meet", explain=True, ranking_profile="helix-reference")
    assert (list(plain.degraded), plain.explanation.graph_method) == ([], "pagerank")
