"""Films and pictures that other programs open."""

import builtins

import numpy as np
import pytest

from pliant.errors import InputError, MissingExtraError
from pliant.render.film import Film, contact_sheet, save_png

Image = pytest.importorskip("PIL.Image")


def picture(k, width=48, height=32):
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 0] = 40 * k % 256
    image[..., 1] = np.linspace(0, 255, width).astype(np.uint8)
    image[: height // 2, ..., 2] = 200
    return image


@pytest.mark.parametrize("suffix", [".webp", ".gif"])
def test_animations_reopen(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    with Film(path, fps=24) as film:
        for k in range(5):
            film.add(picture(k, 47, 31))
    with Image.open(path) as back:
        assert back.size == (47, 31) and back.n_frames == 5
        total = 0
        for k in range(5):
            back.seek(k)
            back.load()
            total += back.info["duration"]
        assert abs(total - 5000 / 24) <= 10
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("size", [(48, 32), (47, 31), (130, 4)])
def test_mp4_reopens(tmp_path, size):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "a.mp4"
    with Film(path, fps=25) as film:
        for k in range(6):
            film.add(picture(k, *size))
    assert ffmpeg.count_frames_and_secs(str(path))[0] == 6
    frames = ffmpeg.read_frames(str(path), pix_fmt="rgb24")
    info = next(frames)
    even = (size[0] + size[0] % 2, size[1] + size[1] % 2)
    assert info["codec"] == "h264" and info["pix_fmt"].startswith("yuv420p") and info["fps"] == 25
    assert tuple(info["size"]) == even
    first = np.frombuffer(next(frames), np.uint8).reshape(even[1], even[0], 3).astype(int)
    frames.close()
    assert np.abs(first[: size[1], : size[0]] - picture(0, *size)).mean() < 12
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


@pytest.mark.parametrize("suffix", [".mp4", ".webp", ".gif"])
def test_a_failure_leaves_nothing_behind(tmp_path, suffix):
    if suffix == ".mp4":
        pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / f"a{suffix}"
    with pytest.raises(ZeroDivisionError), Film(path, fps=10) as film:
        film.add(picture(0))
        _ = 1 / 0
    with pytest.raises(InputError, match="no pictures"), Film(path, fps=10):
        pass
    with pytest.raises(InputError, match="same size"), Film(path, fps=10) as film:
        film.add(picture(0))
        film.add(picture(0, 50))
    assert not list(tmp_path.iterdir())


def test_close_by_hand(tmp_path):
    film = Film(tmp_path / "a.gif", 10)
    film.add(picture(1))
    film.close()
    film.close()
    assert film.count == 1 and (tmp_path / "a.gif").exists()
    with pytest.raises(InputError, match="closed"):
        film.add(picture(2))


def test_mistakes_are_told(tmp_path):
    with pytest.raises(InputError, match=r"\.avi"):
        Film(tmp_path / "a.avi", 10)
    for fps in (0, -1, float("nan")):
        with pytest.raises(InputError, match="fps"):
            Film(tmp_path / "a.gif", fps)
    with pytest.raises(InputError, match="bytes of shape"), Film(tmp_path / "a.gif", 10) as film:
        film.add(picture(0).astype(float))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        Film(tmp_path / "file" / "a.gif", 10)
    with pytest.raises(InputError, match="cannot write"):
        save_png(picture(0), tmp_path / "file" / "a.png")


def test_missing_ffmpeg_is_named(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("imageio_ffmpeg"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pliant\[film\]"):
        Film(tmp_path / "a.mp4", 10)
    assert not list(tmp_path.iterdir())


def test_png_and_contact_sheet(tmp_path):
    save_png(picture(3), tmp_path / "a.png")
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), picture(3))
    images = [picture(k) for k in range(5)]
    contact_sheet(images, tmp_path / "plain.png", columns=3)
    contact_sheet(images, tmp_path / "b.png", columns=3, labels=[f"frame {k}" for k in range(5)])
    plain, sheet = Image.open(tmp_path / "plain.png"), Image.open(tmp_path / "b.png")
    assert plain.size == (3 * 54 + 6, 2 * 38 + 6) and sheet.height > plain.height
    assert np.array_equal(np.asarray(plain)[6:38, 6:54], images[0])
    contact_sheet(images[:2], tmp_path / "c.png", columns=4, width=24)
    assert Image.open(tmp_path / "c.png").width == 2 * 30 + 6
    with pytest.raises(InputError, match="labels"):
        contact_sheet(images, tmp_path / "b.png", labels=["one"])
    with pytest.raises(InputError, match="no pictures"):
        contact_sheet([], tmp_path / "b.png")
