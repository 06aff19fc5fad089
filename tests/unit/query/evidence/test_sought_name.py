"""The name of code whose definition a query is for."""

from __future__ import annotations

import pytest

from helix_query.recall.evidence.definition import sought_name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("LFPlugin", "LFPlugin"),
        ("register", "register"),
        ("set", "set"),
        ("wrap_session()", "wrap_session"),
        ("Config.getoption", "getoption"),
        ("core::net::TcpStream", "TcpStream"),
        ("definition of Parser", "Parser"),
        ("definition of Set", "Set"),
        ("Where is `expression` defined?", "expression"),
        ("where is the function filter declared", "filter"),
        ("where is wrap_session?", "wrap_session"),
        ("show me the code of display()", "display"),
        ("show me wrap_session", "wrap_session"),
        ("what does load_config_dict_from_file do", "load_config_dict_from_file"),
        ("how does wrap_session() work?", "wrap_session"),
        ("what is CartStore?", "CartStore"),
        ("where is the --cache-show option declared", "--cache-show"),
        ("help text of --set-upstream", "--set-upstream"),
        ("return_free_memory docstring", "return_free_memory"),
        ("--rootdir", "--rootdir"),
    ],
)
def test_a_look_up_names_one_thing(query: str, name: str) -> None:
    """Any word of a bare name or a query for a definition; elsewhere it is spelt as code."""
    assert sought_name(query) == name


@pytest.mark.parametrize(
    "query",
    [
        "who calls wrap_session?",
        "usages of `register`",
        "where is retry_budget set?",
        "when did we change retry_budget",
        "AttributeError: 'Foo' object has no attribute 'bar_baz'",
        "src/_pytest/config.py",
        "conftest.py",
        "does wrap_session catch exit_code?",
        "what did we decide about CartStore?",
        "why did wrap_session fail yesterday?",
        "who wrote parse_args",
        "owner of CartStore",
        "which team runs CartStore?",
        "where is CartStore deployed?",
        "what did Jo say about CartStore?",
        "when was load_config renamed?",
        "is wrap_session deprecated?",
        "which PR added wrap_session?",
        "status of run_nightly",
        "how do I fix wrap_session?",
        "tests for wrap_session",
        "what did wrap_session do before?",
        "what is RETRY_LIMIT now?",
        "where is the office located in Porto?",
        "where is my passport?",
        "where is Marta?",
        "what is dinner?",
        "who is Marta's landlord?",
    ],
)
def test_other_questions_about_a_name_look_up_nothing(query: str) -> None:
    """They ask what was done, decided or said."""
    assert sought_name(query) == ""
