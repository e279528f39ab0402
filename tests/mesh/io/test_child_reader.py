"""Libraries that read files in a process of their own: whatever happens there, one error tells it."""

import numpy as np
import pytest

from pliant.errors import InputError, MissingExtraError
from pliant.mesh import shapes
from pliant.mesh.io import child_reader, read_mesh, write_mesh
from pliant.mesh.io.child_reader import read_in_child

MISSING = MissingExtraError("some-lib", "mesh", "Reading it")


def run(tmp_path, body: str):
    reader = tmp_path / "reader.py"
    reader.write_text(
        "import ctypes, os, sys, time\ndef read(path):\n" + "".join(f"    {x}\n" for x in body.split("\n"))
    )
    return read_in_child(str(reader), tmp_path / "some file.abc", "Somelib", MISSING)


def test_what_a_child_finds_comes_back(tmp_path):
    content, said = run(
        tmp_path,
        "import numpy as np\n"
        "print('to the output')\nsys.stdout.flush()\nos.write(1, b'and below Python')\n"
        "some = [np.arange(6.0).reshape(2, 3), np.zeros((0, 3), np.int32), np.array([1, -2])[::-1]]\n"
        "return {'path': path, 'arrays': some, 'bytes': memoryview(b'ab'), 'names': ['\u00e9', None, 1e400]}",
    )
    assert content["path"] == str(tmp_path / "some file.abc") and content["names"] == ["\u00e9", None, np.inf]
    first, second, third = content["arrays"]
    assert (first == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]).all() and first.dtype == np.float64
    assert second.shape == (0, 3) and second.dtype == np.int32
    assert third.tolist() == [-2, 1] and content["bytes"].tolist() == [97, 98]
    assert "to the output" in said and "and below Python" in said


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("ctypes.string_at(0)", "it crashed: SIGSEGV"),
        ("os.abort()", "it crashed: SIGABRT"),
        ("os._exit(7)", "it ended with 7"),
        ("os._exit(0)", "what it gave back makes no sense"),
        ("raise KeyError('a value\\n in two lines')", "a value"),
        ("raise RuntimeError", "RuntimeError"),
        ("bytearray(1 << 50)", "MemoryError"),
        ("while True: os.write(2, b'x' * 4096)", "File too large"),
    ],
)
def test_a_child_that_fails(tmp_path, capfd, body, reason):
    with pytest.raises(InputError) as caught:
        run(tmp_path, body)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'some file.abc'}: Somelib cannot read it (") and reason in message
    assert "fetch it again" in message and capfd.readouterr() == ("", "")


def test_a_child_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr(child_reader, "LONGEST", 0.5)
    with pytest.raises(InputError, match=r"some file.abc: Somelib cannot read it \(it was not done after 0.5 s\)"):
        run(tmp_path, "while True: pass")


def test_a_child_that_refuses_or_lacks_a_package(tmp_path):
    with pytest.raises(InputError) as caught:
        run(tmp_path, "from pliant.errors import InputError\nraise InputError('what', 'where', 'remedy')")
    assert (caught.value.what, caught.value.where, caught.value.remedy) == ("what", "where", "remedy")
    with pytest.raises(MissingExtraError, match="some-lib"):
        run(tmp_path, "import there_is_no_such_package")


def test_damaged_binary_usd(tmp_path, monkeypatch, capfd):
    """A file cut short is refused, one with wrong bytes read or refused; nothing is printed and nothing crashes."""
    pytest.importorskip("pxr")
    monkeypatch.setattr(child_reader, "LONGEST", 10)
    path = tmp_path / "ball.usdc"
    write_mesh(shapes.ball(1.0, 2), path)
    whole = path.read_bytes()
    for size in (20, 90, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"ball.usdc.*USD cannot read it \(.*again"):
            read_mesh(path)
    rng = np.random.default_rng(11)
    refused = 0
    for _ in range(5):
        data = np.frombuffer(whole, np.uint8).copy()
        data[rng.integers(8, len(data), 30)] ^= rng.integers(1, 256, 30, np.uint8)
        path.write_bytes(data.tobytes())
        try:
            read_mesh(path)
        except InputError as error:
            refused += "ball.usdc" in str(error) and bool(error.remedy)
    assert refused >= 3 and capfd.readouterr() == ("", "")


def test_what_usd_warns_of_is_noted(tmp_path, capfd):
    pytest.importorskip("pxr")
    write_mesh(shapes.tetrahedron(), tmp_path / "a.usda")
    text = (tmp_path / "a.usda").read_text()
    (tmp_path / "a.usda").write_text(text + '\ndef "b" (references = @gone.usd@) {}\n')
    notes = read_mesh(tmp_path / "a.usda").notes
    assert any("USD warns" in note and "gone.usd" in note for note in notes)
    assert notes == read_mesh(tmp_path / "a.usda").notes and capfd.readouterr() == ("", "")
