"""Recordings from elsewhere: drawn and exported if they can be, refused with one clear error if not."""

import copy
import dataclasses

import numpy as np
import pytest

from pliant.cli import main
from pliant.errors import InputError
from pliant.export.frames import FramesWriter
from pliant.render.camera import Camera
from pliant.run import open_recording

X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 3, 3]], np.float32)
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)
META = {
    "bodies": [{"name": "tet", "color": [0.8, 0.2, 0.1], "vertices": [0, 4], "triangles": [0, 4]}],
    "planes": [{"point": [0, -1, 0], "normal": [0, 1, 0]}, {"point": [0, -2, 0], "normal": [3, 3, 0]}],
    "camera": dataclasses.asdict(Camera((4.0, 3.0, 2.0), (0.0, 0.0, 0.0))),
    "view": [1, 1, 1],
    "film": {"width": 32, "height": 16, "samples": 1, "something": "newer"},
}


def record(path, meta=META, triangles=TRIANGLES, frames=((0, 0.0, X), (1, 0.1, X))):
    arrays = {"triangles": triangles} if triangles is not None else {}
    with FramesWriter(path, meta, arrays) as writer:
        for frame in frames:
            writer.add(*frame)
    return path


@pytest.mark.parametrize("left_out", [(), ("planes", "camera", "view", "film")])
def test_a_small_description_is_enough(tmp_path, left_out):
    path = str(record(tmp_path / "a.plf", {key: META[key] for key in META if key not in left_out}))
    small = ["--size", "32", "16", "--device", "cpu", "--quiet"]
    assert main(["render", path, "--film", str(tmp_path / "a.gif"), *small]) == 0
    for kind in ("ply", "obj"):
        assert main(["export", path, "--sequence", kind, "--out", str(tmp_path / kind), "--quiet"]) == 0
        assert len(list((tmp_path / kind).iterdir())) == 2


# a path into META and what is put there; "-" takes it out
BAD = {
    "no bodies": (("bodies",), "-"),
    "no body": (("bodies",), []),
    "body is a text": (("bodies", 0), "tet"),
    "no colour": (("bodies", 0, "color"), "-"),
    "two colours": (("bodies", 0, "color"), [0.5, 0.5]),
    "colour is a text": (("bodies", 0, "color"), "red"),
    "no vertices": (("bodies", 0, "vertices"), "-"),
    "too many vertices": (("bodies", 0, "vertices"), [0, 6]),
    "vertices backwards": (("bodies", 0, "vertices"), [4, 0]),
    "vertices in fractions": (("bodies", 0, "vertices"), [0.0, 4.0]),
    "no triangles": (("bodies", 0, "triangles"), "-"),
    "negative triangles": (("bodies", 0, "triangles"), [-1, 4]),
    "one end": (("bodies", 0, "triangles"), [0]),
    "planes are a table": (("planes",), {"point": [0, 0, 0]}),
    "plane is a number": (("planes", 0), 3),
    "no point": (("planes", 0, "point"), "-"),
    "no normal": (("planes", 0, "normal"), "-"),
    "normal without length": (("planes", 1, "normal"), [0, 0, 0]),
    "number too large": (("planes", 0, "point"), [0, 10**400, 0]),
    "unknown camera key": (("camera", "zoom"), 2),
    "no target": (("camera", "target"), "-"),
    "camera is a list": (("camera",), [1, 2, 3]),
    "camera of texts": (("camera", "position"), ["a", "b", "c"]),
    "camera angle": (("camera", "fov_deg"), "wide"),
    "camera angle is null": (("camera", "fov_deg"), None),
    "view": (("view",), [0, 0, 0]),
    "view is a text": (("view",), "up"),
    "film is a list": (("film",), ["a"]),
    "film width": (("film", "width"), 3),
    "film fps": (("film", "fps"), 10**400),
}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.replace(" ", "_"))
def test_a_bad_description_is_one_error(tmp_path, capsys, case):
    (*way, last), value = BAD[case]
    meta = copy.deepcopy(META)
    place = meta
    for part in way:
        place = place[part]
    if value == "-":
        del place[last]
    else:
        place[last] = value
    path = str(record(tmp_path / "bad.plf", meta))
    with pytest.raises(InputError, match=r"bad\.plf"):
        open_recording(path)
    for words in (["render", path, "--film", str(tmp_path / "a.gif")], ["export", path, "--out", str(tmp_path / "o")]):
        assert main([*words, "--quiet"]) == 2
        error = capsys.readouterr().err
        assert error.startswith("pliant: error: ") and error.count("\n") == 1 and "pliant run" in error


@pytest.mark.parametrize(
    "triangles",
    [None, TRIANGLES + 2, TRIANGLES - 1, TRIANGLES.astype(float), TRIANGLES.ravel(), TRIANGLES[:0]],
    ids=["none", "beyond", "negative", "fractions", "flat", "empty"],
)
def test_bad_triangles_are_refused(tmp_path, triangles):
    with pytest.raises(InputError, match=r"bad\.plf"):
        open_recording(record(tmp_path / "bad.plf", triangles=triangles))


def test_bad_frames_are_refused(tmp_path, capsys):
    for frames in [(), ((0, 1.0, X), (1, 0.0, X)), ((0, 0.0, X[:0]),)]:
        with pytest.raises(InputError, match=r"bad\.plf"):
            open_recording(record(tmp_path / "bad.plf", frames=frames))
    path = record(tmp_path / "long.plf", frames=((0, 0.0, X), (1, 1e12, X)))
    assert main(["render", str(path), "--film", str(tmp_path / "a.gif"), "--quiet", "--device", "cpu"]) == 2
    assert "pictures" in capsys.readouterr().err
