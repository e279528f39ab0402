"""The command ``pliant`` as a user meets it: in a process of its own."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pliant.checkpoint import read_checkpoint
from pliant.cli import main
from pliant.errors import BlowUpError
from pliant.export.frames import FramesReader, part_path
from pliant.run import runner
from pliant.scene_file import scene_schema
from pliant.simulation import Simulation

SCENE = """version = 1
name = "block"
[scene]
frames = 40
substeps = 60
[[body]]
shape = { kind = "box", size = 0.3, cells = 4 }
position = [0, 0.4, 0]
rotation = [20, 0, 30]
[[body]]
shape = { kind = "ball", radius = 0.1, cells = 3 }
position = [0.6, 0.6, 0]
pins = [{ vertices = [0], path = [[0.0, [0, 0, 0]], [0.5, [0, 0.2, 0]]] }]
[[plane]]
[film]
size = [48, 32]
samples = 1
"""
COMMAND = [sys.executable, "-m", "pliant"]
KEYS = {
    "finite", "frames", "ms_per_frame", "real_time_factor", "max_stretch", "volume_ratio", "momentum_drift",
    "energy_first", "energy_last", "substeps", "dt", "stable_dt", "device", "versions", "stage_ms",
    "seconds_to_first_frame", "notes", "outputs",
}  # fmt: skip


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "block.toml"
    path.write_text(SCENE)
    return path


def pliant(*words, timeout=60):
    return subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, timeout=timeout)


def frames_of(path):
    with FramesReader(path) as reader:
        return [(frame, when, x.tobytes()) for frame, when, x in reader]


def same_checkpoint(a, b):
    one, other = read_checkpoint(a), read_checkpoint(b)
    assert one.keys() == other.keys()
    return all(np.array_equal(one[k], other[k]) for k in one)


def test_a_run_from_a_cold_process(scene, tmp_path):
    out = tmp_path / "out"
    done = pliant("run", scene, "--out", out, "--json", tmp_path / "s.json", "--sequence", "ply", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and "\r" not in done.stdout and "real time" in done.stdout
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary.keys() >= KEYS
    assert summary["finite"] and summary["completed"] and summary["frames"] == 40 and summary["blow_up"] is None
    assert summary["momentum_drift"] is None and summary["stage_ms"] and summary["max_stretch"] >= 1.0
    for path in summary["outputs"].values():
        assert os.path.exists(path), path
    assert {p.name for p in out.iterdir()} == {
        "block.plf", "block.ckpt", "block.log.jsonl", "block.mp4", "block.png", "block_ply"
    }  # fmt: skip
    assert len(list((out / "block_ply").iterdir())) == 41
    recorded = frames_of(out / "block.plf")
    assert [frame for frame, _, _ in recorded] == list(range(41))


def test_help_needs_nothing_heavy():
    done = pliant("--help")
    assert done.returncode == 0 and "pliant run drop" in done.stdout
    loaded = "import sys, pliant.cli; print([m for m in ('numpy', 'warp') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True).stdout.strip() == "[]"


def kill_after(words, path, size, timeout=30):
    """Start a run and kill it once a file has grown beyond a size [bytes]."""
    process = subprocess.Popen([*COMMAND, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + timeout
    while time.monotonic() < end and process.poll() is None:
        if path.exists() and path.stat().st_size > size:
            break
        time.sleep(0.002)
    process.kill()
    return process.wait()


def test_kill_and_resume_is_bit_identical(scene, tmp_path):
    options = ["run", scene, "--no-film", "--checkpoint-every", 4, "--device", "cpu", "--quiet", "--frames", 150]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert main([str(w) for w in [*options, "--out", whole]]) == 0
    full = (whole / "block.plf").stat().st_size
    part = part_path(broken / "block.plf")
    killed = 0
    for share in (0.02, 0.3, 0.7):
        words = [*options, "--out", broken, "--resume"]
        killed += kill_after(words, part, share * full) == -signal.SIGKILL
        if part.exists() and share > 0.1:
            # as if the kill had torn a record that was being written
            with open(part, "ab") as file:
                file.write(b"FRAM" + bytes(range(40)))
    assert killed == 3
    assert main([str(w) for w in [*options, "--out", broken, "--resume"]]) == 0
    assert (whole / "block.plf").read_bytes() == (broken / "block.plf").read_bytes()
    assert (whole / "block.log.jsonl").read_bytes() == (broken / "block.log.jsonl").read_bytes()
    assert same_checkpoint(whole / "block.ckpt", broken / "block.ckpt")


def test_ctrl_c_leaves_what_can_be_resumed(scene, tmp_path):
    out = tmp_path / "out"
    words = [*COMMAND, "run", scene, "--no-film", "--device", "cpu", "--out", out, "--frames", 4000]
    process = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    part = part_path(out / "block.plf")
    while time.monotonic() < end and not (part.exists() and part.stat().st_size > 30_000):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Interrupted after frame" in errors and "--resume" in errors and "Traceback" not in errors
    recorded = frames_of(out / "block.plf")
    last = recorded[-1][0]
    assert 0 < last < 4000
    code = main(["run", str(scene), "--no-film", "--quiet", "--out", str(out), "--resume", "--frames", str(last + 2),
                 "--device", "cpu"])  # fmt: skip
    assert code == 0
    longer = frames_of(out / "block.plf")
    assert longer[: last + 1] == recorded and len(longer) == last + 3


def test_a_changed_scene_is_not_resumed(scene, tmp_path, capsys):
    options = ["--out", str(tmp_path / "out"), "--no-film", "--quiet", "--device", "cpu"]
    assert main(["run", str(scene), "--frames", "2", *options]) == 0
    scene.write_text(SCENE.replace("[scene]", "[scene]\ngravity = [0, -1, 0]"))
    assert main(["run", str(scene), "--frames", "4", "--resume", *options]) == 2
    assert "changed since" in capsys.readouterr().err
    assert main(["run", str(scene), "--frames", "2", "--resume", "nope.ckpt", *options]) == 2
    assert "nope.ckpt" in capsys.readouterr().err


def test_a_finished_run_can_be_lengthened(scene, tmp_path):
    options = ["run", str(scene), "--no-film", "--quiet", "--device", "cpu"]
    assert main([*options, "--frames", "6", "--out", str(tmp_path / "a")]) == 0
    assert main([*options, "--frames", "3", "--out", str(tmp_path / "b")]) == 0
    assert main([*options, "--frames", "6", "--out", str(tmp_path / "b"), "--resume"]) == 0
    assert frames_of(tmp_path / "a" / "block.plf") == frames_of(tmp_path / "b" / "block.plf")
    assert same_checkpoint(tmp_path / "a" / "block.ckpt", tmp_path / "b" / "block.ckpt")


def test_a_blow_up_keeps_the_last_good_frame(scene, tmp_path, capsys):
    out = tmp_path / "out"
    summary = tmp_path / "s.json"
    words = ["run", scene, "--no-film", "--substeps", "1", "--out", out, "--json", summary, "--device", "cpu"]
    assert main([str(w) for w in words]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "Blow-up in frame" in error and "last_good" in error
    values = json.loads(summary.read_text())
    assert not values["finite"] and not values["completed"] and values["notes"]
    last = values["blow_up"]["last_good_frame"]
    assert frames_of(out / "block.plf")[-1][0] == last == values["frames"]
    meta = json.loads(read_checkpoint(out / "block.last_good.ckpt")["meta"].tobytes())
    assert meta["frame"] == last
    # the surface is the last frame of the recording, in the order of the meshes, without interior vertices
    sequence = tmp_path / "ply"
    assert main(["export", str(out / "block.plf"), "--out", str(sequence), "--quiet"]) == 0
    assert (out / "block.last_good.ply").read_bytes() == (sequence / f"frame_{last:05d}.ply").read_bytes()


def strict_json(path):
    """What a parser that keeps to the standard reads."""

    def refuse(word):
        raise AssertionError(word)

    return json.loads(path.read_text(), parse_constant=refuse)


def test_no_infinity_in_the_summary(scene, tmp_path, monkeypatch):
    """The implicit integrator has no stable step: JSON says null."""

    def frame(sim, count=1):
        raise BlowUpError("Blow-up.", {"frame": 1, "last_good_frame": 0, "stable_step": math.inf})

    monkeypatch.setattr(Simulation, "frame", frame)
    summary = tmp_path / "s.json"
    words = ["run", scene, "--no-film", "--quiet", "--set", "integrator=implicit", "--out", tmp_path / "out"]
    assert main([str(w) for w in [*words, "--json", summary, "--device", "cpu"]]) == 3
    values = strict_json(summary)
    assert values["blow_up"]["stable_step"] is None and values["stable_dt"] is None


@pytest.mark.parametrize("where", ["stage_times", "summarize"])
def test_ctrl_c_after_the_last_frame_still_gives_the_summary(scene, tmp_path, monkeypatch, capsys, where):
    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)
        return {}

    if where == "stage_times":
        monkeypatch.setattr(Simulation, "stage_times", interrupt)
    else:
        summarize = runner.summarize
        monkeypatch.setattr(runner, "summarize", lambda *a: interrupt() or summarize(*a))
    summary = tmp_path / "s.json"
    words = ["run", scene, "--frames", "2", "--out", tmp_path / "out", "--json", summary, "--device", "cpu"]
    assert main([str(w) for w in words]) == 130
    shown = capsys.readouterr()
    assert "block.plf" in shown.out and "Interrupted. The recording is whole" in shown.err
    values = strict_json(summary)
    assert values["completed"] and {"recording", "checkpoint", "json"} <= values["outputs"].keys()


def test_resume_without_a_checkpoint_keeps_the_recording(scene, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["run", str(scene), "--no-film", "--quiet", "--device", "cpu", "--frames", "3", "--out", str(out)]
    assert main(options) == 0
    recording, part = out / "block.plf", part_path(out / "block.plf")
    before = recording.read_bytes()
    (out / "block.ckpt").unlink()
    assert main([*options, "--resume"]) == 2
    error = capsys.readouterr().err
    assert "block.plf" in error and "no checkpoint" in error and "--out" in error
    assert recording.read_bytes() == before and not part.exists()
    # of a run that was killed, too, if it had come past a checkpoint
    recording.rename(part)
    assert main([*options, "--resume", "--checkpoint-every", "2"]) == 2
    assert part.read_bytes() == before
    # broken off before the first one: begins anew, and comes to the same
    assert main([*options, "--resume"]) == 0
    assert recording.read_bytes() == before and not part.exists()


def test_resume_does_not_shorten_a_run(scene, tmp_path, capsys):
    options = ["run", str(scene), "--no-film", "--quiet", "--device", "cpu", "--out", str(tmp_path / "out")]
    assert main([*options, "--frames", "5"]) == 0
    assert main([*options, "--frames", "3", "--resume"]) == 2
    assert "has 5 frames already, and 3 are asked for" in capsys.readouterr().err
    assert main([*options, "--frames", "5", "--resume"]) == 0
    assert len(frames_of(tmp_path / "out" / "block.plf")) == 6


def test_render_and_export(scene, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["run", str(scene), "--no-film", "--quiet", "--frames", "4", "--out", str(out), "--device", "cpu"]) == 0
    recording = str(out / "block.plf")
    film, sheet = tmp_path / "film.gif", tmp_path / "sheet.png"
    assert (
        main(["render", recording, "--film", str(film), "--picture", str(sheet), "--fps", "60", "--device", "cpu"]) == 0
    )
    assert film.stat().st_size > 0 and sheet.stat().st_size > 0
    assert "5 pictures" in capsys.readouterr().out
    assert main(["export", recording, "--sequence", "obj", "--out", str(tmp_path / "obj"), "--quiet"]) == 0
    assert len(list((tmp_path / "obj").glob("*.obj"))) == 5 and (tmp_path / "obj" / "paints.mtl").is_file()
    capsys.readouterr()
    assert main(["render", recording, "--film", str(film), "--picture", str(tmp_path / "x.jpg"), "--quiet"]) == 2
    assert "x.jpg" in (error := capsys.readouterr().err) and ".png" in error


@pytest.mark.parametrize(
    "words, expected",
    [
        (["run", "dorp"], "Did you mean 'drop'"),
        (["run", "drop", "--device", "cuda:99"], "cuda:99"),
        (["run", "drop", "--set", "integrator=magic"], "'magic'"),
        (["run", "drop", "--film", "x.avi"], ".avi"),
        (["run", "drop", "--sequence", "abc"], "'abc'"),
        (["run", "drop", "--out", "/proc/nowhere"], "/proc/nowhere"),
        (["render", "nope.plf"], "nope.plf"),
        (["export", "nope.plf", "--out", "x"], "nope.plf"),
        (["scenes", "dorp"], "Did you mean 'drop'"),
        (["scenes", "--schema", "drop"], "'drop'"),
        (["scenes", "--out", "x.json"], "--schema"),
        (["bench", "sprngs"], "springs"),
    ],
)
def test_errors_are_one_line(words, expected, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("pliant: error: ") and error.count("\n") == 1 and expected in error


def test_what_is_listed(capsys, tmp_path):
    assert main(["scenes"]) == 0
    listed = capsys.readouterr().out
    assert "drop" in listed and "implicit" in listed
    assert main(["scenes", "drop"]) == 0
    assert "version = 1" in capsys.readouterr().out
    assert main(["scenes", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == scene_schema()
    assert main(["scenes", "--schema", "--out", str(tmp_path / "schema.json")]) == 0
    assert json.loads((tmp_path / "schema.json").read_text()) == scene_schema() and not capsys.readouterr().out
    assert main(["bench"]) == 0
    assert "springs" in capsys.readouterr().out
    assert main(["info"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("pliant", "warp", "threads", "kernel cache"))
