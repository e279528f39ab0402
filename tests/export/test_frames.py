"""The recording format: exact, resumable, and never silently wrong."""

import json
import struct
import zlib

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.export.frames import MAGIC, RECORD, FramesReader, FramesWriter, part_path

META = {"frame_dt": 1 / 60, "units": "m", "bodies": [{"name": "büste", "particles": [0, 40]}]}
ARRAYS = {"triangles": np.arange(60, dtype=np.int32).reshape(20, 3), "rest": np.random.default_rng(1).random((40, 3))}


def positions(frame, count=40):
    return np.random.default_rng(frame).normal(size=(count, 3)).astype(np.float32)


def write(path, frames=5):
    with FramesWriter(path, META, ARRAYS) as writer:
        for k in range(frames):
            writer.add(k, k / 60, positions(k))
    return path


def boundaries(path):
    """Byte offsets at which a record ends."""
    data, offset, ends = path.read_bytes(), len(MAGIC), []
    while offset < len(data):
        offset += RECORD.size + RECORD.unpack_from(data, offset)[1]
        ends.append(offset)
    assert offset == len(data)
    return ends


def same(x, y):
    return x.dtype == np.float32 and x.tobytes() == np.asarray(y, dtype=np.float32).tobytes()


def test_round_trip_is_bit_exact(tmp_path):
    odd = np.array([[np.nan, np.inf, -np.inf], [-0.0, 1e-42, 3.4e38]], dtype=np.float32)
    with FramesWriter(tmp_path / "a.plf", META, ARRAYS) as writer:
        writer.add(0, 0.0, odd)
        writer.add(7, 0.1, odd[::-1])
        assert part_path(tmp_path / "a.plf").exists() and not (tmp_path / "a.plf").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["a.plf"]
    with FramesReader(tmp_path / "a.plf") as reader:
        assert reader.meta == META and reader.finished
        assert set(reader.arrays) == set(ARRAYS)
        for name, array in ARRAYS.items():
            assert reader.arrays[name].dtype == array.dtype and np.array_equal(reader.arrays[name], array)
        assert len(reader) == 2
        frame, time, x = reader[-1]
        assert (frame, time) == (7, 0.1) and same(x, odd[::-1])
        assert same(reader[0][2], odd)
        assert [f for f, _, _ in reader] == [0, 7]
        with pytest.raises(IndexError):
            reader[2]


def test_empty_recordings(tmp_path):
    with FramesWriter(tmp_path / "none.plf") as writer:
        pass
    assert writer.count == 0 and len(FramesReader(tmp_path / "none.plf")) == 0
    with FramesWriter(tmp_path / "zero.plf", arrays={"nothing": np.zeros((0, 3))}) as writer:
        writer.add(0, 0.0, np.zeros((0, 3), np.float32))
    reader = FramesReader(tmp_path / "zero.plf")
    assert reader[0][2].shape == (0, 3) and reader.arrays["nothing"].shape == (0, 3)


def test_still_scenes_take_little_room(tmp_path):
    x = np.zeros((20000, 3), np.float32)
    with FramesWriter(tmp_path / "a.plf") as writer:
        writer.add(0, 0.0, x)
    assert (tmp_path / "a.plf").stat().st_size < x.nbytes / 50
    assert same(FramesReader(tmp_path / "a.plf")[0][2], x)


def test_documented_layout(tmp_path):
    """A reader written from the docstring alone, without any of our code."""
    data = write(tmp_path / "a.plf", 2).read_bytes()
    assert data[:8] == b"PLIANTF1"
    offset, tags = 8, []
    while offset < len(data):
        tag, length, crc = struct.unpack_from("<4sQI", data, offset)
        payload = data[offset + 16 : offset + 16 + length]
        assert zlib.crc32(payload) == crc
        tags.append(tag.decode())
        if tag == b"FRAM":
            line, _, packed = payload.partition(b"\n")
            line = json.loads(line)
            planes = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(4, 3 * line["count"])
            x = planes.T.copy().view("<f4").reshape(-1, 3)
            assert np.array_equal(x, positions(line["frame"]))
        offset += 16 + length
    assert tags == ["HEAD", "ARRY", "ARRY", "FRAM", "FRAM", "END."]


@pytest.mark.parametrize("suffix", [".plf", ".plf.part"])
def test_cut_anywhere(tmp_path, suffix):
    data = write(tmp_path / "whole.plf", 3).read_bytes()
    ends = boundaries(tmp_path / "whole.plf")
    cuts = {0, 4, len(MAGIC), *ends[:-1]}
    cuts |= {end + extra for end in [len(MAGIC), *ends[:-1]] for extra in (1, 5, 15, 16, 20)}
    cut_file = tmp_path / f"cut{suffix}"
    for cut in sorted(cuts):
        cut_file.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends)
        if suffix == ".plf" or whole < 3:
            with pytest.raises(InputError, match=r"byte|not a recording") as caught:
                FramesReader(cut_file)
            assert caught.value.remedy
        else:
            with FramesReader(cut_file) as reader:
                assert len(reader) == whole - 3 and not reader.finished
                for k in range(len(reader)):
                    assert same(reader[k][2], positions(k))


def test_a_flipped_bit_is_noticed(tmp_path):
    data = write(tmp_path / "a.plf", 3).read_bytes()
    bad = tmp_path / "bad.plf"
    for place in range(0, len(data), 7):
        bad.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        with pytest.raises(InputError) as caught, FramesReader(bad) as reader:
            reader.verify()
        assert "byte" in str(caught.value) and "bad.plf" in str(caught.value)


def test_lengths_are_checked_before_memory_is_taken(tmp_path):
    huge = 1 << 60
    head = json.dumps({"version": 1, "arrays": []}).encode()
    start = MAGIC + RECORD.pack(b"HEAD", len(head), zlib.crc32(head)) + head
    (tmp_path / "a.plf").write_bytes(start + RECORD.pack(b"FRAM", huge, 0) + b"x" * 50)
    with pytest.raises(InputError, match=str(huge)):
        FramesReader(tmp_path / "a.plf")
    # A frame that claims more positions than its bytes can hold, and one that holds more than it claims.
    for count, packed in ((1 << 40, zlib.compress(b"")), (1, zlib.compress(bytes(10_000_000)))):
        frame = json.dumps({"frame": 0, "time": 0.0, "count": count}).encode() + b"\n" + packed
        end = b'{"count": 1}'
        records = RECORD.pack(b"FRAM", len(frame), zlib.crc32(frame)) + frame
        records += RECORD.pack(b"END.", len(end), zlib.crc32(end)) + end
        (tmp_path / "b.plf").write_bytes(start + records)
        with FramesReader(tmp_path / "b.plf") as reader, pytest.raises(InputError, match="positions"):
            reader[0]


def test_pickles_are_refused(tmp_path):
    with pytest.raises(InputError, match="object"):
        FramesWriter(tmp_path / "a.plf", arrays={"bad": np.array([{}], dtype=object)})
    assert not list(tmp_path.iterdir())
    npy = b"\x93NUMPY\x01\x00\x40\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(63) + b"\n"
    payload = b"\x01\x00a" + zlib.compress(npy + b"x" * 8)
    head = json.dumps({"version": 1, "arrays": ["a"]}).encode()
    data = MAGIC + RECORD.pack(b"HEAD", len(head), zlib.crc32(head)) + head
    (tmp_path / "a.plf").write_bytes(data + RECORD.pack(b"ARRY", len(payload), zlib.crc32(payload)) + payload)
    with pytest.raises(InputError, match="array is not understood"):
        FramesReader(tmp_path / "a.plf", recover=True)


def test_crash_and_resume_gives_the_same_bytes(tmp_path):
    expected = write(tmp_path / "whole.plf", 6).read_bytes()
    path = tmp_path / "a.plf"
    with pytest.raises(RuntimeError), FramesWriter(path, META, ARRAYS) as writer:
        for k in range(4):
            writer.add(k, k / 60, positions(k))
        raise RuntimeError("power cut")
    part = part_path(path)
    part.write_bytes(part.read_bytes()[:-9])
    assert len(FramesReader(part)) == 3
    with FramesWriter.resume(path, after_frame=1) as writer:
        assert (writer.last_frame, writer.count) == (1, 2)
        for k in range(2, 6):
            writer.add(k, k / 60, positions(k))
    assert path.read_bytes() == expected and not part.exists()


def test_resume_a_finished_recording(tmp_path):
    path = write(tmp_path / "a.plf", 3)
    with FramesWriter.resume(path, after_frame=10) as writer:
        assert writer.last_frame == 2 and not path.exists()
        writer.add(3, 0.05, positions(3))
    assert [f for f, _, _ in FramesReader(path)] == [0, 1, 2, 3]
    with FramesWriter.resume(path, after_frame=-1) as writer:
        assert writer.last_frame is None and writer.count == 0
    assert len(FramesReader(path)) == 0


def test_resume_behind_garbage_and_without_a_head(tmp_path):
    part = part_path(tmp_path / "a.plf")
    part.write_bytes(write(tmp_path / "b.plf", 3).read_bytes() + b"\0" * 4096)
    with FramesWriter.resume(tmp_path / "a.plf", after_frame=2) as writer:
        assert writer.last_frame == 2
    FramesReader(tmp_path / "a.plf").verify()
    part.write_bytes(MAGIC + b"HEAD")
    with pytest.raises(InputError, match="header is missing"):
        FramesWriter.resume(tmp_path / "a.plf", after_frame=0)


def test_mistakes_are_told(tmp_path):
    path = tmp_path / "a.plf"
    with FramesWriter(path) as writer:
        writer.add(3, 0.0, positions(0))
        for bad in (positions(0)[:, :2], np.zeros((40, 3), int), positions(0, 39)):
            with pytest.raises(InputError):
                writer.add(4, 0.0, bad)
        with pytest.raises(InputError, match="rising"):
            writer.add(3, 0.0, positions(0))
        with pytest.raises(InputError, match="time"):
            writer.add(4, float("nan"), positions(0))
    with pytest.raises(InputError, match="closed"):
        writer.add(5, 0.0, positions(0))
    writer.close()
    assert len(FramesReader(path)) == 1
    with pytest.raises(InputError, match="JSON"):
        FramesWriter(tmp_path / "b.plf", {"x": object()})
    with pytest.raises(InputError, match="reserved"):
        FramesWriter(tmp_path / "b.plf", {"version": 3})


def test_missing_and_wrong_files(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.plf"):
        FramesReader(tmp_path / "nothing.plf")
    with pytest.raises(InputError):
        FramesWriter.resume(tmp_path / "nothing.plf", 0)
    (tmp_path / "text.plf").write_text("hello, this is no recording")
    with pytest.raises(InputError, match="not a recording"):
        FramesReader(tmp_path / "text.plf")
    with pytest.raises(InputError):
        FramesReader(tmp_path)
    FramesWriter(tmp_path / "open.plf").sync()
    with pytest.raises(InputError, match=r"open\.plf\.part"):
        FramesReader(tmp_path / "open.plf")


def test_unwritable_places(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        FramesWriter(tmp_path / "file" / "a.plf")
    with pytest.raises(InputError, match="folder"):
        FramesWriter(tmp_path)
