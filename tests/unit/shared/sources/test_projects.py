import subprocess
from pathlib import Path

import pytest

from helix_shared.sources.projects import project_of


def git(folder: Path, *words: str) -> None:
    """Run git without the configuration of this machine."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *who, *words], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit and a folder in it."""
    main = tmp_path / "weather"
    (main / "src").mkdir(parents=True)
    git(main, "init", "-q", "-b", "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    return main


def test_worktrees_and_their_folders_are_the_project_of_the_main_repository(repository: Path) -> None:
    """Wherever a worktree lies, and however it is called."""
    tree = repository.parent / "trees" / "fix-gauge"
    git(repository, "worktree", "add", "-q", str(tree))
    (tree / "deep" / "er").mkdir(parents=True)
    found = {project_of(str(one)) for one in (repository, repository / "src", tree, tree / "deep" / "er")}
    assert found == {"weather"}


def test_a_worktree_of_a_bare_repository_is_its_project(repository: Path) -> None:
    """A bare repository is a folder `name.git`."""
    bare, tree = repository.parent / "site.git", repository.parent / "trees" / "a"
    git(repository, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "remote", "remove", "origin")
    git(bare, "worktree", "add", "-q", str(tree), "main")
    assert project_of(str(tree)) == "site"


@pytest.mark.parametrize(
    "address",
    ["git@example.org:acme/station.git", "https://ana:secret@example.org/acme/station.git/", "/srv/station"],
)
def test_clones_of_one_remote_are_one_project_and_its_address_stays_unknown(
    repository: Path, address: str
) -> None:
    """The address may hold a password; only its last part is used."""
    git(repository, "remote", "add", "fork", "git@example.org:else/where.git")
    git(repository, "remote", "add", "origin", address)
    assert project_of(str(repository / "src")) == "station"


def test_a_submodule_is_a_project_of_its_own(repository: Path) -> None:
    """It has a remote of its own."""
    other = repository.parent / "gauge"
    git(repository, "clone", "-q", str(repository), str(other))
    git(repository, "submodule", "add", "-q", str(other), "lib")
    assert project_of(str(repository / "lib")) == "gauge"


@pytest.mark.parametrize(
    ("folder", "project"),
    [("/nowhere/weather-station/", "weather-station"), (r"C:\src\gauge", "gauge"), ("", ""), (None, ""),
     (7, ""), ("/", ""), ("a\0b", "a\0b"), ("rel/ative", "ative")],
)  # fmt: skip
def test_outside_of_git_the_project_is_the_folder(folder: object, project: str) -> None:
    """A transcript may come from another machine, and its folder need not exist here."""
    assert project_of(folder) == project


def test_a_damaged_git_folder_is_no_failure(tmp_path: Path) -> None:
    """The name of the folder is good enough."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".git").write_bytes(b"gitdir: \xff\0/nowhere")
    assert project_of(str(tmp_path / "a")) == "a"
