"""What the Dockerfile puts into an image, and the script that runs the containers without Compose."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .compose_file import OPTIONAL, ROOT, SERVICES


def _script(path: str) -> Any:
    """A script of ops as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


containers_run = _script("ops/containers_run.py")


def test_image_has_no_root_no_installer_and_only_the_lock() -> None:
    """Every package of an image is pinned by version and hash."""
    _, _, build, code, final = (ROOT / "ops/Dockerfile").read_text().split("\nFROM ")
    assert "USER 10001:10001" in final
    assert "pip" not in final
    assert "--without-pip /opt/helix" in build
    assert build.count("--require-hashes --no-deps -r") == 2
    assert "--no-deps --no-index" in code
    assert "curl" not in build + code + final
    assert "apt-get" not in final


def test_every_service_has_an_image_that_the_dockerfile_can_build() -> None:
    """`SERVICE` is a folder of services/ or a package of the lock; what is copied is not ignored."""
    lock = (ROOT / "requirements.lock").read_text()
    for name, service in SERVICES.items():
        assert service["build"]["context"] == "."
        assert (ROOT / service["build"]["dockerfile"]).is_file()
        wanted = service["build"]["args"]["SERVICE"]
        assert (ROOT / "services" / wanted).is_dir() or f"\n{wanted}==" in lock, name
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    dockerfile = (ROOT / "ops/Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, flags=re.MULTILINE):
        for source in line.split():
            assert (ROOT / source).exists()
            assert f"!{source}" in ignored


def test_packages_are_installed_before_any_code_is_copied() -> None:
    """A change of code must not install hundreds of megabytes again."""
    dockerfile = (ROOT / "ops/Dockerfile").read_text()
    packages = dockerfile.split("AS packages")[1].split("\nFROM ")[0]
    assert re.findall(r"^COPY (.+)$", packages, flags=re.MULTILINE) == [
        "--from=lists /build.txt /service.txt /",
        "ops/slim.sh /",
    ]
    final = dockerfile.rsplit("\nFROM ", 1)[1]
    assert final.index("--from=packages") < final.index("--from=code")


@pytest.mark.skipif(shutil.which("strip") is None, reason="binutils are not installed")
def test_object_storage_works_without_the_symbols_that_images_lack(tmp_path: Path) -> None:
    """A library that was changed after it was linked does not load once it is stripped."""
    assert re.search(r"^for package in .*\bobstore\b", (ROOT / "ops/slim.sh").read_text(), re.MULTILINE)
    found = importlib.util.find_spec("obstore")
    assert found is not None
    assert found.origin is not None
    shutil.copytree(Path(found.origin).parent, tmp_path / "obstore")
    libraries = list((tmp_path / "obstore").rglob("*.so"))
    assert libraries
    subprocess.run(["strip", "--strip-unneeded", *map(str, libraries)], check=True)
    program = (
        "import obstore; from obstore.store import MemoryStore; store = MemoryStore(); "
        "obstore.put(store, 'a', b'1', mode='create'); "
        "print(obstore.__file__, bytes(obstore.get(store, 'a').bytes()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(tmp_path / "obstore/__init__.py"), "b'1'"]


def test_the_check_of_the_containers_reads_the_services_from_compose(tmp_path: Path) -> None:
    """It starts every service of `all` after those that it waits for, on this machine's addresses alone."""
    compose = containers_run.Compose.read("all", tmp_path)
    order = list(compose.ordered())
    assert set(order) == set(SERVICES) - OPTIONAL
    for name in order:
        options = compose.run_options(name)
        assert all(order.index(wanted) < order.index(name) for wanted in SERVICES[name].get("depends_on", {}))
        assert not [option for option in options if "0.0.0.0" in option or "$" in option]  # noqa: S104  text only
        assert "--read-only" in options
        given = {text.partition("=")[0] for text in options if text.startswith("HELIX_")}
        assert given == set(SERVICES[name].get("environment", {}))
    assert len(set(compose.ports.values())) == len(order)


@pytest.mark.parametrize("wanted", ["query", "elsewhere"])
def test_services_that_wait_for_each_other_or_for_one_that_is_not_there_end_the_check(
    wanted: str, tmp_path: Path
) -> None:
    """It does not wait for ever."""
    services = {"nats": {}, "query": {"depends_on": {wanted: {}}}}
    with pytest.raises(containers_run.Failed, match="cannot be started"):
        list(containers_run.Compose(services, tmp_path).ordered())


@pytest.mark.parametrize("argument", ["--help", "--kept"])
def test_the_check_of_the_containers_starts_with_no_argument_that_it_does_not_know(argument: str) -> None:
    """It takes minutes, and removes what it made."""
    command = [sys.executable, ROOT / "ops/containers_check.py", argument]
    done = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "[--keep]" in done.stderr
