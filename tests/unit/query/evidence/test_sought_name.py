"""The name of code whose definition a query is for."""

from __future__ import annotations

import pytest

from helix_query.recall.evidence.definition import sought_name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("LFPlugin", "LFPlugin"),
        ("register", "register"),
        ("wrap_session()", "wrap_session"),
        ("Config.getoption", "Config.getoption"),
        ("definition of Parser", "Parser"),
        ("Where is `expression` defined?", "expression"),
        ("where is the parser for wrap_session?", "wrap_session"),
        ("show me the code of display()", "display"),
        ("what does load_config_dict_from_file do", "load_config_dict_from_file"),
        ("where is the --cache-show option declared", "--cache-show"),
        ("--rootdir", "--rootdir"),
        ("who calls wrap_session?", ""),
        ("usages of `register`", ""),
        ("where is retry_budget set?", ""),
        ("when did we change retry_budget", ""),
        ("AttributeError: 'Foo' object has no attribute 'bar_baz'", ""),
        ("src/_pytest/config.py", ""),
        ("conftest.py", ""),
        ("does wrap_session catch exit_code?", ""),
        ("where is the office located?", ""),
        ("where is my passport?", ""),
        ("who is Marta's landlord?", ""),
    ],
)
def test_one_name_that_is_looked_up(query: str, name: str) -> None:
    """Spelt as code, or the one word of a look-up; not for its uses, changes, errors, nor of several."""
    assert sought_name(query) == name
