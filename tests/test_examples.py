"""Every example is built and its claims are checked."""

import importlib.util
import warnings
from pathlib import Path

import pytest

import pliant

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("[0-9][0-9]_*.py"))
LONGEST = 100


def load(path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_shows_what_it_claims(path, tmp_path, monkeypatch):
    # bodies prepared by an earlier version must not hide what this one makes
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    example = load(path)
    with warnings.catch_warnings():
        # 09 asks for a step that is too large on purpose
        warnings.filterwarnings("ignore", message="The step of")
        sim = example.build()
        if isinstance(sim, pliant.Scene):
            sim = sim.build()
        example.check(sim)


def test_examples_are_numbered_from_one_without_a_gap():
    assert [path.name[:2] for path in EXAMPLES] == [f"{k:02d}" for k in range(1, len(EXAMPLES) + 1)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_explains_itself(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert len(text.splitlines()) <= LONGEST
    assert hasattr(load(path), "main")
