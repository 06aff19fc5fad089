"""Of the package of consolidation: what decides whether a re-embedding continues."""

from pathlib import Path

from helix_consolidation.stores.made_with import PACKAGE, package_digest


def test_another_rule_is_another_digest(tmp_path: Path) -> None:
    """A rule or a file of data counts, what Python compiled does not."""
    assert (PACKAGE / "folding").is_dir()
    assert package_digest() == package_digest()
    (tmp_path / "folding").mkdir()
    rule, data = tmp_path / "folding/rule.py", tmp_path / "words.toml"
    rule.write_text("NEAR = 0.9")
    data.write_text("a = 1")
    digests = [package_digest(tmp_path)]
    (tmp_path / "folding/rule.pyc").write_bytes(b"compiled")
    assert package_digest(tmp_path) == digests[0]
    for file in (rule, data):
        file.write_text(file.read_text() + "5")
        digests.append(package_digest(tmp_path))
    assert len(set(digests)) == 3
