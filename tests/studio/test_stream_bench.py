"""The bench of the stream shows what it says, and does what it can where there is no browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from pliant.bench.stream import RINGS, carrier, make_scene, ring
from pliant.bench.stream_page import opened
from pliant.errors import InputError
from pliant.mesh.embed import embed


@pytest.mark.parametrize("vertices", RINGS)
def test_rings_have_the_vertices_asked_for(vertices):
    mesh = ring(*RINGS[vertices])
    assert len(mesh.vertices) == vertices and len(mesh.triangles) == 2 * vertices
    a, b, c = mesh.vertices[mesh.triangles].transpose(1, 0, 2)
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    assert volume == pytest.approx(2.0 * np.pi**2 * 0.12 * 0.05**2, rel=0.01)  # and so they face outwards


def test_a_ring_lies_in_its_carrier_and_moves_with_it():
    mesh = ring(60, 30)
    assert embed(mesh.vertices, carrier()).share_outside == 0.0
    sim = make_scene(60, 30).build("cpu", estimate_step=False)
    before = sim.surface_positions("ring")
    sim.frame(8)
    fallen = before[:, 1].mean() - sim.surface_positions("ring")[:, 1].mean()
    assert fallen == pytest.approx(0.5 * 9.81 * (8 / 60) ** 2, rel=0.1)


def test_a_browser_that_does_not_start_is_told(monkeypatch, tmp_path):
    pytest.importorskip("websockets")
    monkeypatch.setenv("PLIANT_CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(InputError, match="PLIANT_CHROMIUM"), opened("http://127.0.0.1:1/"):
        pass


def test_without_a_browser_the_rest_is_measured(tmp_path):
    pytest.importorskip("nicegui")
    # NiceGUI behaves differently where it believes itself under test
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "NICEGUI"))}
    rows = tmp_path / "rows.json"
    command = [sys.executable, "-m", "pliant", "bench", "stream", "--quick", "--device", "cpu", "--json", str(rows)]
    done = subprocess.run(
        command, env={**clean, "PLIANT_CHROMIUM": str(tmp_path / "none")}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = {(row["case"], row["metric"]): row["value"] for row in json.loads(rows.read_text())}
    assert "could not be started" in found["page", "not_measured"]
    assert found["slow client, 100 ms a frame", "most_unacknowledged"] <= 3
    assert found["slow client, 100 ms a frame", "frames_per_s"] < 11.0
    assert found["clients, 4 at once", "frames_per_s_each"] > 0.0
    assert 12.0 < found["frame of 20,000 vertices", "bytes_per_vertex"] < 12.2
