import tomllib
from importlib import resources
from pathlib import Path

import pytest

from helix_lab.profile_text import with_table, write_table
from helix_query.profile.files import load_profiles
from helix_query.profile.sections.abstention import Abstain, AnswerModel
from helix_query.profile.sections.fusion import Adaptive
from helix_shared.errors import InvalidInputError

OLD = """# mine
name = "mine"

# how it was found before
# in two lines
[abstain]
threshold = 0.5
[abstain.answer]
intercept = 9.0

# duplicates
[diversify]
near_duplicate = 0.9
"""
PART = Abstain(threshold=0.25, answer=AnswerModel(intercept=1.5, coefficients={"cosine": 2.0}))


def test_only_the_table_is_replaced() -> None:
    """Its old comment goes with it; it keeps its place, and the comment of the next table stays."""
    text = with_table(OLD, "abstain", PART, comment="found anew")
    assert text.startswith('# mine\nname = "mine"\n\n# found anew\n[abstain]\n')
    assert text.endswith("\n\n# duplicates\n[diversify]\nnear_duplicate = 0.9\n")
    assert "before" not in text
    assert Abstain.model_validate(tomllib.loads(text)["abstain"]) == PART
    assert with_table(text, "abstain", PART, comment="found anew") == text


def test_a_missing_table_is_appended() -> None:
    """A table of another name that begins alike is not the table."""
    text = with_table(
        "[fuse]\nk = 9\n", "fuse.adaptive", Adaptive(intercept=1.0, coefficients={"words": 2.0}), comment=""
    )
    assert tomllib.loads(text)["fuse"] == {
        "k": 9,
        "adaptive": {"encoder": "", "intercept": 1.0, "coefficients": {"words": 2.0}},
    }
    assert "abstained" in with_table("[abstained]\nx = 1\n", "abstain", PART, comment="new")


@pytest.mark.parametrize(
    "text", ["[fuse]\nadaptive = { intercept = 1.0 }\n", "fuse.adaptive.intercept = 1.0\n", "[fuse\n"]
)
def test_a_table_without_a_heading_of_its_own_is_refused(text: str) -> None:
    """A second one below it would make a file that no query service can read."""
    with pytest.raises(InvalidInputError, match=r"\[fuse\.adaptive\] cannot be replaced in it"):
        with_table(text, "fuse.adaptive", Adaptive(intercept=1.0, coefficients={"words": 2.0}), comment="")


def test_the_default_profile_can_be_rewritten() -> None:
    """Every other constant of `helix` stays what it is."""
    text = (resources.files("helix_query.profile") / "helix.toml").read_text(encoding="utf-8")
    before = tomllib.loads(text)
    after = tomllib.loads(with_table(text, "abstain", Abstain(), comment="none"))
    assert before | {"abstain": {"encoder": "", "threshold": 0.0}} == after
    assert "abstain" in before or load_profiles()["helix"].abstain == Abstain()


def test_a_profile_is_written_into_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A fit takes an hour: it must not end with a missing folder."""
    out = tmp_path / "new" / "own.toml"
    write_table(out, load_profiles()["helix"], "abstain", PART, comment="found anew")
    assert tomllib.loads(out.read_text())["abstain"]["threshold"] == 0.25
    assert [path.name for path in out.parent.iterdir()] == ["own.toml"]
