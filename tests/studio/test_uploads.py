"""Uploads: good meshes become bodies; damaged, hostile, slow and large ones become one error and leave nothing."""

import contextlib
import dataclasses
import gzip
import json
import struct
import threading
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

import httpx
from starlette.applications import Starlette
from studio.fake_engine import served

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.io import write_mesh
from pliant.mesh.prepared import read_body
from pliant.studio import uploads
from pliant.studio.options import StudioOptions

MESH = "ball.obj"
BUNNY = Path(__file__).parents[3] / "shared" / "meshes" / "npm_bunny.obj"


@pytest.fixture(scope="module")
def ball(tmp_path_factory) -> bytes:
    """An OBJ file of a ball."""
    path = tmp_path_factory.mktemp("ball") / MESH
    write_mesh(shapes.ball(0.5, 5).surface_mesh(), path)
    return path.read_bytes()


@contextlib.contextmanager
def receiving(tmp_path, **options):
    app = Starlette()
    store = uploads.add_uploads(app, tmp_path / "uploads", StudioOptions(**options))
    with served(app) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
        yield client, store


def refused(answer, status):
    error = answer.json()["error"]
    assert answer.status_code == status, error
    assert set(error) == {"what", "where", "remedy"} and error["what"] and error["remedy"]
    return error


def left_in(tmp_path):
    folder = tmp_path / "uploads"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_mesh_becomes_a_body(tmp_path, ball):
    with receiving(tmp_path) as (client, _):
        answer = client.post("/upload?name=ball.obj&size=0.3&tets=200", content=ball)
        found = answer.json()
        assert answer.status_code == 200, found
        assert found["file"] == "uploads/ball.plb" and found["mesh"] == "uploads/ball.obj" and found["kind"] == "tets"
        assert found["size"] == pytest.approx(0.3) and max(found["extent"]) == found["size"]
        report = found["report"]
        assert report["tets"] > 20 and report["triangles"] > 100 and report["lines"] and report["repaired"] == []
        body = read_body(tmp_path / found["file"])
        assert len(body.solid.tets) == report["tets"]
        # the same again is kept once, another of that name beside it; a body is taken as it is
        assert client.post("/upload?name=ball.obj&size=0.3&tets=200", content=ball).json()["file"] == found["file"]
        other = client.post("/upload?name=ball.obj.gz&size=0.2&tets=200", content=gzip.compress(ball)).json()
        assert other["file"] == "uploads/ball-2.plb" and other["mesh"] == "uploads/ball.obj.gz"
        plb = (tmp_path / found["file"]).read_bytes()
        ready = client.post("/upload?name=ready.plb", content=plb).json()
        assert ready["file"] == ready["mesh"] == "uploads/ready.plb" and ready["report"]["tets"] == report["tets"]
    assert left_in(tmp_path) == ["ball-2.plb", "ball.obj", "ball.obj.gz", "ball.plb", "ready.plb"]


@pytest.mark.skipif(not BUNNY.exists(), reason="no shared meshes")
def test_a_bunny(tmp_path):
    with receiving(tmp_path) as (client, _):
        found = client.post("/upload?name=bunny.obj&size=0.25&tets=300", content=BUNNY.read_bytes()).json()
        assert found["file"] == "uploads/bunny.plb" and found["report"]["triangles"] == 3674
        assert found["size"] == pytest.approx(0.25) and "closed" in " ".join(found["report"]["lines"])


def test_a_usd_file_that_leads_to_others_is_refused(tmp_path):
    pytest.importorskip("pxr")
    mesh = 'def Mesh "m"\n{\n    point3f[] points = [(0,0,0), (1,0,0), (0,1,0)]\n    int[] faceVertexCounts = [3]\n'
    mesh += "    int[] faceVertexIndices = [0, 1, 2]\n}\n"
    secret = tmp_path / "secret.usda"
    secret.write_text(f'#usda 1.0\n(\n    defaultPrim = "m"\n)\n{mesh}')
    thief = f'#usda 1.0\ndef "x" (\n    prepend references = @{secret}@\n)\n{{\n}}\n'
    with receiving(tmp_path / "project") as (client, _):
        assert "another file" in refused(client.post("/upload?name=thief.usda", content=thief.encode()), 422)["what"]


def test_damaged_and_hostile_files(tmp_path, ball):
    many = b"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nproperty float y\n"
    many += b"property float z\nelement face 4000000000\nproperty list uchar int vertex_indices\nend_header\n"
    stl = bytes(80) + struct.pack("<I", 0xFFFFFFFF) + bytes(100)
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(36))
    thief = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": 36, "uri": str(secret)}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
    }
    cases = {
        "cut.obj": ball[: len(ball) // 3] + b"f 1 2",
        "many.ply": many,
        "many.stl": stl,
        "bomb.obj.gz": gzip.compress(bytes(300 << 20), 1),
        "pickle.plb": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
        "thief.gltf": json.dumps(thief).encode(),
        "binary.obj": bytes(range(256)) * 50,
    }
    with receiving(tmp_path, upload_memory_mb=600) as (client, _):
        for name, data in cases.items():
            error = refused(client.post(f"/upload?name={name}", content=data), 422)
            assert str(tmp_path) not in error["where"], name
            assert ("another file" in error["what"]) == (name == "thief.gltf")
            assert ("more memory" in error["what"]) == (name == "bomb.obj.gz")
        assert (
            "another file" in refused(client.post("/upload?name=thief.gltf", content=cases["thief.gltf"]), 422)["what"]
        )
        refused(client.post("/upload?name=empty.obj", content=b""), 422)
    assert left_in(tmp_path) == []


def test_too_large_is_refused_while_it_arrives(tmp_path):
    sent = []

    def endless():
        for k in range(400):
            sent.append(k)
            yield bytes(1 << 18)

    with receiving(tmp_path, upload_mb=1) as (client, store):
        # told in advance, and not told
        refused(client.post("/upload?name=a.obj", content=bytes((1 << 20) + 1)), 413)
        # the server may hang up while it is still being sent to
        with contextlib.suppress(httpx.TransportError):
            refused(client.post("/upload?name=a.obj", content=endless()), 413)
        assert len(sent) < 400
        assert store._under_way == 0 and store._arriving == 0
    assert left_in(tmp_path) == []


def test_the_folder_is_not_filled_without_end(tmp_path):
    with receiving(tmp_path, uploads_mb=1) as (client, store):
        store.folder.mkdir()
        (store.folder / "old.obj").write_bytes(bytes(900_000))
        refused(client.post("/upload?name=a.obj", content=bytes(300_000)), 507)
    assert left_in(tmp_path) == ["old.obj"]


def test_what_takes_too_long_is_ended(tmp_path, ball, monkeypatch):
    ended = []
    end = uploads._end

    async def spy(child):
        await end(child)
        ended.append(child.returncode)

    monkeypatch.setattr(uploads, "_end", spy)
    with receiving(tmp_path, upload_seconds=0.05) as (client, _):
        assert "0.05 s" in refused(client.post("/upload?name=a.obj", content=ball), 422)["what"]
    assert ended == [-9] and left_in(tmp_path) == []


def test_no_more_than_two_children_at_once(tmp_path, ball, monkeypatch):
    now, most = 0, 0

    async def prepare(self, path, settings):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await uploads.asyncio.sleep(0.1)
        now -= 1
        return {"prepared": path.name}

    monkeypatch.setattr(uploads.Uploads, "_prepare", prepare)
    with receiving(tmp_path) as (client, _):
        send = lambda k: client.post(f"/upload?name=a{k}.obj", content=ball)
        threads = [threading.Thread(target=send, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == uploads.MOST_CHILDREN and len(left_in(tmp_path)) == 6


@pytest.mark.parametrize(
    "given, stored",
    [
        ("bunny.obj", "bunny.obj"),
        ("../../etc/passwd.obj", "passwd.obj"),
        ("/etc/cron.d/x.STL", "x.stl"),
        ("C:\\temp\\a b.ply", "a_b.ply"),
        ("..obj", "mesh.obj"),
        (".obj", "mesh.obj"),
        ("a\0b.obj", "a_b.obj"),
        ("-rf.obj.gz", "rf.obj.gz"),
        ("....//....//x.off", "x.off"),
        ("été ☃.obj", "t.obj"),
        ("a" * 500 + ".obj", "a" * 80 + ".obj"),
        ("x..y.plb", "x.y.plb"),
    ],
)
def test_names_are_made_safe(given, stored):
    assert "".join(uploads.safe_name(given)) == stored


@pytest.mark.parametrize(
    "name", ["", "bunny", "x.py", "x.obj.exe", "x.npy", "x.pkl", "x.node", "x.glb.gz", "x.obj/..", "x.zip"]
)
def test_other_kinds_are_refused(name):
    with pytest.raises(uploads.RefusedError) as info:
        uploads.safe_name(name)
    assert info.value.status == 415


def test_paths_do_not_leave_the_folder(tmp_path, ball, monkeypatch):
    async def prepare(self, path, settings):
        return {"prepared": path.name}

    monkeypatch.setattr(uploads.Uploads, "_prepare", prepare)
    outside = tmp_path / "outside.obj"
    outside.write_bytes(ball)
    with receiving(tmp_path) as (client, store):
        found = client.post("/upload", params={"name": "../../outside.obj"}, content=b"v 0 0 0").json()
        assert found["file"] == "uploads/outside.obj" and outside.read_bytes() == ball
        # a link that lies there is neither followed nor replaced
        (store.folder / "link.obj").symlink_to(outside)
        found = client.post("/upload?name=link.obj", content=ball).json()
        assert found["file"] == "uploads/link-2.obj" and outside.read_bytes() == ball


def test_settings_are_checked(tmp_path, ball):
    options = StudioOptions(upload_seconds=20.0)
    settings = uploads.settings_of({"size": "0.5", "tets": "500", "enclose": "true", "up": "z"}, options)
    assert (settings.size, settings.tets, settings.enclose, settings.up) == (0.5, 500, True, "z")
    assert settings.time_limit == 10.0
    with receiving(tmp_path) as (client, _):
        for query in (
            "size=-1",
            "size=nan",
            "size=x",
            "tets=1e3",
            "up=q",
            "nothing=1",
            "enclose=maybe",
            "time_limit=0",
        ):
            refused(client.post(f"/upload?name=a.obj&{query}", content=ball), 400)
        refused(client.post("/upload?name=a.obj", files={"file": ball}), 415)
        assert client.get("/upload?name=a.obj").status_code == 405
    assert left_in(tmp_path) == []


def test_options_are_described():
    for field in dataclasses.fields(StudioOptions):
        assert field.metadata["meaning"]
    with pytest.raises(InputError):
        StudioOptions(port=70_000)
