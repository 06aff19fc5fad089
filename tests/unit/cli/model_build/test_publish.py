"""How a model takes the place of another one of its name."""

from pathlib import Path

import pytest

from helix_cli.model_build.publish import RETIRED, UNFINISHED, publish, put_back
from helix_shared.encoders.model import CARD_FILE


def fill(stage: Path) -> None:
    """A new model, with a folder of its own."""
    (stage / CARD_FILE).write_text("new")
    (stage / "inner").mkdir()
    (stage / "inner" / "graph").write_text("new")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A model that is there."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / CARD_FILE).write_text("old")
    return folder


def test_a_model_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file and folder of it, also of folders inside: else a power cut leaves a card without them."""
    synced: list[str] = []
    monkeypatch.setattr("helix_cli.model_build.publish.sync", lambda path: synced.append(path.name))
    publish(tmp_path, "tiny", fill, existing="refuse")
    assert synced[-1] == tmp_path.name
    assert sorted(synced[:-1]) == sorted([CARD_FILE, "inner", "graph", "tiny"])


def test_an_interrupted_replacement_keeps_the_model(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between the two renames."""
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if self.name == old.name and Path(target) == old and self.parent.name != RETIRED:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        publish(old.parent, old.name, fill, existing="replace")
    assert (old / CARD_FILE).read_text() == "old"


def test_a_model_that_a_killed_process_had_moved_aside_goes_back(old: Path) -> None:
    """It was killed between the two renames."""
    aside = old.parent / f"{UNFINISHED}x" / RETIRED / old.name
    aside.parent.mkdir(parents=True)
    old.rename(aside)
    put_back(old.parent)
    assert (old / CARD_FILE).read_text() == "old"
    assert not list(old.parent.glob(f"{UNFINISHED}*"))
