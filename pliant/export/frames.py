"""The recording format ``.plf``: every frame of a simulation in one file that a crash cannot spoil.

A file is the eight bytes ``PLIANTF1`` and then records, each of them

    tag       4 bytes of ASCII
    length    u64, little-endian: bytes of payload
    crc       u32, little-endian: CRC-32 of the payload
    payload

with these tags, in this order:

    HEAD      once: UTF-8 JSON, what was given as ``meta`` plus ``version`` and ``arrays`` (their names)
    ARRY      one per array: u16 length of its name, its name in UTF-8, then zlib of a ``.npy`` file
    FRAM      one per frame: a line of JSON {"frame", "time", "count"}, a newline, then zlib of the positions:
              ``count`` x 3 little-endian float32, reordered so that the first bytes of all numbers come first,
              then the second ones, and so on (four times ``3 count`` bytes); lossless
    END.      once: UTF-8 JSON {"count"}, the number of FRAM records

While it grows the file is called ``name.plf.part``; `FramesWriter.close` adds END and renames it. A file may
end anywhere when the writer is killed: `FramesWriter.resume` drops a torn tail and goes on. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from pliant.errors import InputError
from pliant.files import cannot_write, make_parent, sync_folder

MAGIC = b"PLIANTF1"
VERSION = 1
RECORD = struct.Struct("<4sQI")
TAGS = (b"HEAD", b"ARRY", b"FRAM", b"END.")
# zlib shrinks nothing by more than this: what claims to be larger is damaged.
ZLIB_RATIO = 1032
MAX_HEAD = 64 << 20
MAX_LINE = 1 << 16


@dataclasses.dataclass(frozen=True)
class Record:
    """Where a record lies in its file [bytes]."""

    tag: bytes
    offset: int
    length: int
    crc: int

    @property
    def start(self) -> int:
        return self.offset + RECORD.size

    @property
    def end(self) -> int:
        return self.start + self.length


class FramesWriter:
    """Records frames; what has been added survives a crash of the program.

    Used with ``with``, an exception leaves ``path.part`` behind, to be read or resumed.

    Args:
        path: file to write, by custom ``.plf``; it appears when the writer is closed.
        meta: what JSON can hold: frame rate, bodies with their names and ranges, units.
        arrays: what does not change: triangles, tets, rest positions, colours.
        level: effort of the compression, 0 to 9.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        meta: Mapping[str, Any] | None = None,
        arrays: Mapping[str, np.ndarray] | None = None,
        level: int = 1,
    ):
        self.path = make_parent(path)
        self.part = part_path(self.path)
        self.count = 0
        self.last_frame: int | None = None
        self._level = level
        self._particles: int | None = None
        packed = {name: _pack_array(name, array, level) for name, array in (arrays or {}).items()}
        head = _pack_head(meta or {}, list(packed))
        try:
            self._file: BinaryIO = open(self.part, "wb")
            self._file.write(MAGIC)
            self._write(b"HEAD", head)
            for payload in packed.values():
                self._write(b"ARRY", payload)
        except OSError as error:
            raise cannot_write(self.part, error) from error

    @classmethod
    def resume(cls, path: str | os.PathLike, after_frame: int, level: int = 1) -> FramesWriter:
        """Go on with a recording after a frame, whether it was broken off or finished.

        Frames later than ``after_frame`` and a torn tail are dropped. `last_frame` then says which frame is
        the last one kept: ``None`` if none is.
        """
        self = cls.__new__(cls)
        self.path = Path(path)
        self.part = part_path(self.path)
        source = self.part if self.part.exists() else self.path
        with FramesReader(source, recover=True) as reader:
            keep = reader.arrays_end
            self.count, self.last_frame, self._particles = 0, None, None
            for k, record in enumerate(reader.records):
                line = reader.line(k)
                if line["frame"] > after_frame:
                    break
                self.count, self.last_frame, self._particles = k + 1, line["frame"], line["count"]
                keep = record.end
        self._level = level
        try:
            if source != self.part:
                os.replace(source, self.part)
            self._file = open(self.part, "r+b")
            self._file.truncate(keep)
            self._file.seek(keep)
        except OSError as error:
            raise cannot_write(self.part, error) from error
        return self

    def add(self, frame: int, time: float, x: np.ndarray) -> None:
        """Append a frame.

        Args:
            frame: its number, larger than the one before.
            time: since the start [s].
            x: positions (n, 3) [m], stored as float32 bit for bit; n is the same for every frame.
        """
        if self._file.closed:
            raise InputError("the recording is closed", str(self.path), "Use FramesWriter.resume to go on with it")
        x = np.asarray(x)
        if x.ndim != 2 or x.shape[1] != 3 or x.dtype.kind != "f":
            raise InputError(f"an array of shape {x.shape} and type {x.dtype}", "x", "Give numbers of shape (n, 3)")
        if self._particles is not None and len(x) != self._particles:
            raise InputError(f"{len(x)} positions where there were {self._particles}", "x", "Keep their number")
        if self.last_frame is not None and frame <= self.last_frame:
            raise InputError(
                f"frame {frame} comes after frame {self.last_frame}", "frame", "Add frames in rising order"
            )
        if not math.isfinite(time):
            raise InputError(f"time is {time}", "time", "Give seconds since the start")
        line = json.dumps({"frame": int(frame), "time": float(time), "count": len(x)})
        data = np.ascontiguousarray(x, dtype="<f4").view(np.uint8).reshape(-1, 4)
        packed = zlib.compress(np.ascontiguousarray(data.T).tobytes(), self._level)
        try:
            self._write(b"FRAM", line.encode() + b"\n" + packed)
        except OSError as error:
            raise cannot_write(self.part, error) from error
        self.count, self.last_frame, self._particles = self.count + 1, int(frame), len(x)

    def sync(self) -> None:
        """Wait until everything added is on the disk, safe from a power cut too."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Finish the recording and put it under its name."""
        if self._file.closed:
            return
        try:
            self._write(b"END.", json.dumps({"count": self.count}).encode())
            self.sync()
            self._file.close()
            os.replace(self.part, self.path)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        sync_folder(self.path.parent)

    def __enter__(self) -> FramesWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            with contextlib.suppress(OSError):
                self._file.close()

    def _write(self, tag: bytes, payload: bytes) -> None:
        self._file.write(RECORD.pack(tag, len(payload), zlib.crc32(payload)) + payload)
        # Out of this process at once: a crash of the program then loses at most the record being written.
        self._file.flush()


class FramesReader:
    """A recording, opened for reading; frames are read when they are asked for.

    Args:
        path: a finished ``.plf``, or a ``.part`` that was broken off and is read up to its last whole record.
        recover: read a damaged file, too, up to its last whole record.
    """

    def __init__(self, path: str | os.PathLike, recover: bool = False):
        self.path = Path(path)
        try:
            self._file: BinaryIO = open(self.path, "rb")
        except OSError as error:
            raise self._missing(error) from error
        try:
            self._size = os.fstat(self._file.fileno()).st_size
            self.finished = False
            self._open(recover or self.path.suffix == ".part")
        except BaseException:
            self._file.close()
            raise

    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]
    records: list[Record]
    arrays_end: int

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> tuple[int, float, np.ndarray]:
        """Frame number, time [s] and positions (n, 3) [m] of the frame at a place in the recording."""
        record = self.records[index]
        payload = self._payload(record)
        line = self._line(payload[:MAX_LINE], record)
        size = 12 * line["count"]
        packed = payload[payload.index(b"\n") + 1 :]
        data = _unpack(packed, size) if size <= ZLIB_RATIO * len(packed) else None
        if data is None:
            raise self._damaged(record.offset, f"the frame does not hold the {line['count']} positions it claims")
        x = np.ascontiguousarray(np.frombuffer(data, np.uint8).reshape(4, -1).T).view("<f4").reshape(-1, 3)
        return line["frame"], line["time"], x.astype(np.float32, copy=False)

    def __iter__(self) -> Iterator[tuple[int, float, np.ndarray]]:
        for index in range(len(self.records)):
            yield self[index]

    def line(self, index: int) -> dict[str, Any]:
        """Frame number, time and number of positions of a frame, without its positions."""
        record = self.records[index]
        self._file.seek(record.start)
        return self._line(self._file.read(min(record.length, MAX_LINE)), record)

    def verify(self) -> None:
        """Read every frame once; raises `InputError` at the first that is damaged."""
        for _ in self:
            pass

    def close(self) -> None:
        """Close the file; what was read stays."""
        self._file.close()

    def __enter__(self) -> FramesReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, recover: bool) -> None:
        magic = self._file.read(len(MAGIC))
        if magic != MAGIC:
            raise InputError(
                f"this is not a recording: it begins with {magic!r} instead of {MAGIC!r} (byte 0)",
                str(self.path),
                "Give a file that Pliant recorded (.plf)",
            )
        records = self._scan(recover)
        if not records or records[0].tag != b"HEAD":
            raise self._damaged(len(MAGIC), "the header is missing")
        self.meta, names = self._head(records[0])
        tables = records[1 : 1 + len(names)]
        self.arrays_end = records[len(tables)].end
        if len(tables) < len(names) or any(record.tag != b"ARRY" for record in tables):
            raise self._damaged(self.arrays_end, f"not all of the arrays {names} are there")
        self.arrays = dict(self._array(record) for record in tables)
        self.records = records[1 + len(names) :]
        if self.records and self.records[-1].tag == b"END.":
            self.finished = self._end(self.records.pop())
        for record in self.records:
            if record.tag != b"FRAM":
                raise self._damaged(record.offset, f"a record {record.tag!r} among the frames")
        if not self.finished and not recover:
            raise self._damaged(self._size, f"the file is cut off after {len(self.records)} frames")

    def _scan(self, recover: bool) -> list[Record]:
        """Find the records, reading no more than their heads; with ``recover`` check each and stop at a bad one."""
        records: list[Record] = []
        offset = len(MAGIC)
        while offset < self._size:
            self._file.seek(offset)
            head = self._file.read(RECORD.size)
            problem = "a record is cut off"
            if len(head) == RECORD.size:
                record = Record(RECORD.unpack(head)[0], offset, *RECORD.unpack(head)[1:])
                problem = f"{record.tag!r} is no kind of record"
                if record.tag in TAGS:
                    problem = f"a record claims {record.length} bytes where {self._size - record.start} are left"
                    if record.end <= self._size:
                        problem = ""
            if not problem and records and records[-1].tag == b"END.":
                problem = "there is more after the end"
            if not problem and recover and self._crc(record) != record.crc:
                problem = "a record is damaged"
            if problem:
                if recover:
                    break
                raise self._damaged(offset, problem)
            records.append(record)
            offset = record.end
        return records

    def _crc(self, record: Record) -> int:
        """Checksum of a payload, in pieces of bounded size."""
        self._file.seek(record.start)
        crc, left = 0, record.length
        while left:
            piece = self._file.read(min(left, 1 << 20))
            if not piece:
                return -1
            crc, left = zlib.crc32(piece, crc), left - len(piece)
        return crc

    def _payload(self, record: Record) -> bytes:
        self._file.seek(record.start)
        payload = self._file.read(record.length)
        if len(payload) != record.length or zlib.crc32(payload) != record.crc:
            raise self._damaged(record.offset, f"the {record.tag.decode()} record's checksum does not match")
        return payload

    def _head(self, record: Record) -> tuple[dict[str, Any], list[str]]:
        """What was given as ``meta``, and the names of the arrays that follow."""
        if record.length > MAX_HEAD:
            raise self._damaged(record.offset, f"a header of {record.length} bytes")
        payload = self._payload(record)
        try:
            meta = json.loads(payload)
            version, names = int(meta.pop("version")), meta.pop("arrays")
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError("names of arrays")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(record.offset, "the header is not understood") from error
        if version > VERSION:
            raise InputError(
                f"format version {version}, and this program reads up to {VERSION}", str(self.path), "Update Pliant"
            )
        return meta, names

    def _array(self, record: Record) -> tuple[str, np.ndarray]:
        payload = self._payload(record)
        length = int.from_bytes(payload[:2], "little")
        packed = payload[2 + length :]
        try:
            name = payload[2 : 2 + length].decode("utf-8")
            start = io.BytesIO(zlib.decompressobj().decompress(packed, MAX_LINE))
            if np.lib.format.read_magic(start) != (1, 0):
                raise ValueError("version of .npy")
            shape, _, dtype = np.lib.format.read_array_header_1_0(start)
            size = start.tell() + math.prod(shape) * dtype.itemsize
            data = _unpack(packed, size) if size <= ZLIB_RATIO * len(packed) and not dtype.hasobject else None
            if data is None:
                raise ValueError("size of .npy")
            return name, np.load(io.BytesIO(data), allow_pickle=False)
        except (ValueError, zlib.error, EOFError) as error:
            raise self._damaged(record.offset, f"an array is not understood ({error})") from error

    def _line(self, start: bytes, record: Record) -> dict[str, Any]:
        text, newline, _ = start.partition(b"\n")
        try:
            line = json.loads(text)
            line = {"frame": int(line["frame"]), "time": float(line["time"]), "count": int(line["count"])}
            if newline and line["count"] >= 0:
                return line
        except (ValueError, KeyError, TypeError):
            pass
        raise self._damaged(record.offset, "a frame does not begin with its number and time")

    def _end(self, record: Record) -> bool:
        payload = self._payload(record) if record.length < MAX_LINE else b""
        try:
            count = int(json.loads(payload)["count"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(record.offset, "the last record is not understood") from error
        if count != len(self.records):
            raise self._damaged(record.offset, f"{len(self.records)} frames where the end says {count}")
        return True

    def _damaged(self, offset: int, what: str) -> InputError:
        return InputError(
            f"damaged at byte {offset} of {self._size}: {what}",
            str(self.path),
            "Open it with FramesReader(path, recover=True) to read what lies before, or record it again",
        )

    def _missing(self, error: OSError) -> InputError:
        part = part_path(self.path)
        if isinstance(error, FileNotFoundError) and part.exists():
            remedy = f"The recording was broken off: open {part.name}, or go on with it (FramesWriter.resume)"
            return InputError("there is no such file", str(self.path), remedy)
        return InputError(f"cannot be read ({error.strerror})", str(self.path), "Check the name and its permissions")


def part_path(path: str | os.PathLike) -> Path:
    """The name of a recording while it grows."""
    return Path(f"{os.fspath(path)}.part")


def _pack_head(meta: Mapping[str, Any], names: list[str]) -> bytes:
    reserved = {"version", "arrays"} & set(meta)
    if reserved:
        raise InputError(f"meta has the reserved key {sorted(reserved)[0]!r}", "meta", "Call it something else")
    try:
        return json.dumps({"version": VERSION, "arrays": names, **meta}, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot be written as JSON ({error})", "meta", "Use text, finite numbers, lists") from error


def _pack_array(name: str, array: np.ndarray, level: int) -> bytes:
    array = np.ascontiguousarray(array)
    if array.dtype.hasobject or array.dtype.names:
        raise InputError(f"type {array.dtype}", f"arrays[{name!r}]", "Give numbers")
    label = name.encode("utf-8")
    if not 0 < len(label) < 1 << 16:
        raise InputError(f"a name of {len(label)} bytes", "arrays", "Give a name of 1 to 65535 bytes")
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return len(label).to_bytes(2, "little") + label + zlib.compress(file.getvalue(), level)


def _unpack(packed: bytes, size: int) -> bytes | None:
    """What zlib packed, if it is whole and exactly ``size`` bytes; never makes more than that."""
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(packed, max(size, 1))
        data += stream.decompress(stream.unconsumed_tail, 1)
    except zlib.error:
        return None
    return data if len(data) == size and stream.eof else None
