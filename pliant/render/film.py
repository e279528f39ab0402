"""Pictures to files: films, single pictures, and contact sheets."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.files import replace_file, replace_path

SUFFIXES = (".mp4", ".webp", ".gif")


class Film:
    """A film that appears under its name when it is finished, and not at all if something fails.

    The suffix says the kind: ``.mp4`` (H.264, plays in browsers), ``.webp`` or ``.gif``.

    Args:
        path: file to write.
        fps: pictures per second.
        quality: 0 (small) to 100 (best).
    """

    def __init__(self, path: str | os.PathLike, fps: float = 30.0, quality: int = 85):
        self.path = Path(path)
        suffix = self.path.suffix.lower()
        if suffix not in SUFFIXES:
            raise InputError(
                f"no film format has the suffix {suffix!r}", str(path), f"Use one of: {', '.join(SUFFIXES)}"
            )
        if not 0.0 < fps <= 1000.0:
            raise InputError(f"fps is {fps}", "Film.fps", "Give pictures per second, above 0 and at most 1000")
        if not 0 <= quality <= 100:
            raise InputError(f"quality is {quality}", "Film.quality", "Give a number from 0 to 100")
        self.fps = float(fps)
        self.count = 0
        self._closed = False
        self._size: tuple[int, int] | None = None
        self._place = contextlib.ExitStack()
        if suffix == ".mp4":
            _import_ffmpeg()
        else:
            _import_pillow("Writing a WebP or GIF film")
        temporary = self._place.enter_context(replace_path(self.path))
        self._sink: Any = _Mp4(temporary, self.fps, quality)
        if suffix != ".mp4":
            self._sink = _Animation(temporary, self.fps, quality, suffix[1:].upper())

    def add(self, image: np.ndarray) -> None:
        """Append a picture: bytes of shape (height, width, 3), all of one size."""
        if self._closed:
            raise InputError("the film is closed", str(self.path), "Add every picture before close()")
        image = _checked(image, "Film.add")
        height, width = image.shape[:2]
        if self._size is None:
            self._size = (width, height)
        if self._size != (width, height):
            raise InputError(
                f"picture {self.count} has {width} x {height} pixels, the first had {self._size[0]} x {self._size[1]}",
                str(self.path),
                "Give every picture of a film the same size",
            )
        self._sink.add(image)
        self.count += 1

    def close(self) -> None:
        """Finish the film and put it under its name."""
        if self.count == 0:
            error = InputError("the film has no pictures", str(self.path), "Call add() at least once")
            self.__exit__(type(error), error, None)
            raise error
        if self._closed:
            return
        try:
            self._sink.close()
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        self._closed = True
        self._place.close()

    def __enter__(self) -> Film:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        self._closed = True
        self._sink.abandon()
        self._place.__exit__(kind, error, trace)


class _Mp4:
    """H.264 in 4:2:0 with the index in front, so that browsers play it while it loads.

    ffmpeg is run from here rather than through imageio's writer, which does not report its failure.
    """

    def __init__(self, path: Path, fps: float, quality: int):
        self._path, self._fps = path, fps
        self._crf = str(round(38 - 0.24 * quality))
        self._process: subprocess.Popen | None = None
        self._log: Any = None

    def add(self, image: np.ndarray) -> None:
        # 4:2:0 needs even sides: repeat the last row or column rather than rescale the whole picture.
        image = np.pad(image, ((0, image.shape[0] % 2), (0, image.shape[1] % 2), (0, 0)), mode="edge")
        if self._process is None:
            self._start(image.shape[1], image.shape[0])
        try:
            self._input().write(image.tobytes())
        except OSError as error:
            raise self._failure() from error

    def _start(self, width: int, height: int) -> None:
        command = [_import_ffmpeg().get_ffmpeg_exe(), "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-s", f"{width}x{height}", "-r", f"{self._fps:.6g}", "-i", "-", "-an"]
        command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", self._crf, "-preset", "medium"]
        # Say and use the colour matrix that players assume, or colours shift.
        command += ["-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709"]
        command += ["-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"]
        command += ["-movflags", "+faststart", "-f", "mp4", str(self._path.absolute())]
        self._log = tempfile.TemporaryFile()
        # A session of its own: Ctrl-C reaches us, and we decide what becomes of the film.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._log, start_new_session=True
        )

    def _input(self) -> IO[bytes]:
        assert self._process is not None and self._process.stdin is not None
        return self._process.stdin

    def close(self) -> None:
        assert self._process is not None
        try:
            self._input().close()
        except OSError as error:
            raise self._failure() from error
        if self._process.wait() != 0:
            raise self._failure()
        self._log.close()

    def abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):
                self._input().close()
            self._process.wait()
            self._log.close()

    def _failure(self) -> InputError:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        self._log.seek(0)
        said = self._log.read(2000).decode("utf-8", "replace").strip() or "no message"
        return InputError(f"ffmpeg could not write the film: {said}", str(self._path), "Is there room on the disk?")


class _Animation:
    """An animated picture; its frames are kept until the end, since Pillow writes them all at once."""

    def __init__(self, path: Path, fps: float, quality: int, kind: str):
        self._path, self._fps, self._quality, self._kind = path, fps, quality, kind
        self._images: list[Any] = []

    def add(self, image: np.ndarray) -> None:
        picture = _import_pillow("Writing a film").fromarray(image)
        # A GIF has 256 colours: an adaptive palette without dithering keeps files small and still areas still.
        self._images.append(picture.quantize(256, dither=0) if self._kind == "GIF" else picture)

    def close(self) -> None:
        # Milliseconds (a GIF counts in tens); rounding the times, not the steps, keeps the film's length.
        unit = 10 if self._kind == "GIF" else 1
        ends = [round(1000.0 / unit * k / self._fps) for k in range(len(self._images) + 1)]
        steps = [max(1, b - a) * unit for a, b in itertools.pairwise(ends)]
        options: dict[str, Any] = {"duration": steps if len(steps) > 1 else steps[0], "loop": 0}
        if self._kind == "WEBP":
            options |= {"quality": self._quality, "method": 3, "minimize_size": False, "allow_mixed": False}
        else:
            options |= {"optimize": False, "disposal": 1}
        self._images[0].save(self._path, format=self._kind, save_all=True, append_images=self._images[1:], **options)

    def abandon(self) -> None:
        self._images.clear()


def save_png(image: np.ndarray, path: str | os.PathLike) -> None:
    """Write a picture, bytes of shape (height, width, 3), as PNG."""
    picture = _import_pillow("Writing a PNG").fromarray(_checked(image, "save_png"))
    with replace_file(path) as file:
        picture.save(file, format="PNG")


def contact_sheet(
    images: Sequence[np.ndarray],
    path: str | os.PathLike,
    columns: int = 4,
    labels: Sequence[str] | None = None,
    width: int | None = None,
) -> None:
    """Write pictures side by side into one PNG.

    Args:
        images: bytes of shape (height, width, 3) each; sizes may differ.
        path: file to write.
        columns: pictures in a row.
        labels: a caption for each picture.
        width: scale every picture to this many pixels across.
    """
    pillow = _import_pillow("Writing a contact sheet")
    from PIL import ImageDraw, ImageFont

    if not len(images):
        raise InputError("there are no pictures", "contact_sheet", "Give at least one")
    if columns < 1:
        raise InputError(f"columns is {columns}", "contact_sheet", "Give at least 1")
    if labels is not None and len(labels) != len(images):
        raise InputError(f"{len(labels)} labels for {len(images)} pictures", "contact_sheet", "Give one for each")
    pictures = [pillow.fromarray(_checked(image, "contact_sheet")) for image in images]
    if width is not None:
        pictures = [p.resize((width, max(1, round(p.height * width / p.width))), pillow.LANCZOS) for p in pictures]
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    cell_w, cell_h = max(p.width for p in pictures), max(p.height for p in pictures)
    text = max(11, min(20, cell_h // 14))
    caption = text + 8 if labels is not None else 0
    gap = 6
    size = (columns * (cell_w + gap) + gap, rows * (cell_h + caption + gap) + gap)
    sheet = pillow.new("RGB", size, (250, 250, 250))
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=text)
    for k, picture in enumerate(pictures):
        left = gap + (k % columns) * (cell_w + gap)
        top = gap + (k // columns) * (cell_h + caption + gap)
        sheet.paste(picture, (left, top))
        if labels is not None:
            pen.text((left + 2, top + cell_h + 2), str(labels[k]), fill=(40, 44, 52), font=font)
    with replace_file(path) as file:
        sheet.save(file, format="PNG")


def _checked(image: np.ndarray, where: str) -> np.ndarray:
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise InputError(
            f"a picture of shape {image.shape} and type {image.dtype}", where, "Give bytes of shape (height, width, 3)"
        )
    return image


def _import_ffmpeg() -> Any:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise MissingExtraError("imageio-ffmpeg", "film", "Writing an MP4") from error
    return imageio_ffmpeg


def _import_pillow(purpose: str) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pillow", "film", purpose) from error
    return Image
