"""ONNX Runtime reports nothing to its maker."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
ENGINE = ROOT / "shared/helix_shared/encoders/engine.py"
OPEN = """
import sys
{first}
import onnxruntime
onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
"""


def _files_after(first: str, model: Path, home: Path) -> list[str]:
    """What a program that opens a model leaves in an empty home folder."""
    home.mkdir()
    subprocess.run(
        [sys.executable, "-c", OPEN.format(first=first), str(model)],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        check=True,
        timeout=60,
    )
    return [path.name for path in home.rglob("*") if path.is_file()]


def test_a_process_with_a_model_keeps_no_reports(models_dir: Path, tmp_path: Path) -> None:
    """Imported elsewhere, the runtime fills a database for its maker, where its own rules let it."""
    model = next(models_dir.glob("*/model.onnx"))
    if not _files_after("", model, tmp_path / "control"):
        pytest.skip("ONNX Runtime keeps no reports on this machine anyway")
    assert _files_after("import helix_shared.encoders.engine", model, tmp_path / "ours") == []


def test_every_module_imports_the_runtime_from_there() -> None:
    """An import before it would open the database."""
    found = []
    for folder in ("proto", "shared", "services", "ops"):
        for path in (ROOT / folder).rglob("*.py"):
            if "onnxruntime" not in (source := path.read_text(encoding="utf-8")):
                continue
            for node in ast.walk(ast.parse(source)):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                if any(name.partition(".")[0] == "onnxruntime" for name in names):
                    found.append(path)
    assert found == [ENGINE]
