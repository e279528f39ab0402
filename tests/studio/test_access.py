"""Who gets in: token, cookie, Host and Origin, on pages, sockets, uploads and downloads alike."""

import contextlib
import os

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from studio.fake_engine import FakeEngine, read, served
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from pliant.errors import InputError
from pliant.studio.access import Access, AccessMiddleware, is_loopback
from pliant.studio.downloads import add_downloads
from pliant.studio.options import StudioOptions
from pliant.studio.stream import add_stream
from pliant.studio.uploads import add_uploads

TOKEN = "a-token-of-some-length"


@contextlib.contextmanager
def guarded(tmp_path, **options):
    """A server whose options say that it is at `host`, though it listens on this machine only."""
    chosen = StudioOptions(**options)
    access = Access(chosen)
    app = Starlette(middleware=[Middleware(AccessMiddleware, access=access)])
    app.router.add_route("/", lambda request: PlainTextResponse("page " + str(request.url.query)))
    add_stream(app, FakeEngine(), chosen)
    add_uploads(app, tmp_path / "uploads", chosen)
    add_downloads(app, tmp_path / "files")
    with served(app) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        yield access, client, port


def socket_status(port, headers=None, query=""):
    """The status that a socket is refused with, or 101."""
    try:
        with connect(f"ws://127.0.0.1:{port}/stream{query}", additional_headers=headers, proxy=None) as socket:
            assert read(socket.recv(timeout=10))[1]["event"] == "hello"
            return 101
    except InvalidStatus as error:
        assert error.response.body.decode().strip().endswith((".", "..."))
        return error.response.status_code


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.3.2.1", "LOCALHOST."])
def test_this_machine_needs_no_token(host):
    assert is_loopback(host)
    assert Access(StudioOptions(host=host)).token is None


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.4", "gpu.example", "127.0.0.1.example", "localhost.example", ""]
)
def test_any_other_needs_one(host):
    assert not is_loopback(host)
    first, second = Access(StudioOptions(host=host)), Access(StudioOptions(host=host))
    assert first.token and second.token and first.token != second.token and len(first.token) >= 32
    assert first.cookie != second.cookie
    assert first.link("gpu", 8080).endswith(f":8080/?token={first.token}")


@pytest.mark.parametrize("token", ["", "short", "with blanks in it", "semi;colon-token"])
def test_bad_tokens_are_refused(token):
    with pytest.raises(InputError, match="token"):
        Access(StudioOptions(token=token))


def test_host_and_origin_on_this_machine(tmp_path):
    with guarded(tmp_path) as (_, client, port):
        assert client.get("/").status_code == 200
        for host in ("localhost:9999", f"127.0.0.1:{port}", "[::1]:8080", "localhost"):
            assert client.get("/", headers={"host": host}).status_code == 200, host
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "192.168.0.3:8080",
            "localhost.evil.example",
            "a b",
            "a;b",
            "",
        ):
            answer = client.get("/", headers={"host": host})
            # the server's own parser may refuse it before we do
            assert answer.status_code in (400, 403), host
        own = f"127.0.0.1:{port}"
        for origin in (
            "http://evil.example",
            "http://localhost:1",
            "null",
            "https://127.0.0.1",
            "file://",
            "http://[",
            "x",
        ):
            for method, path in (("POST", "/upload?name=a.obj"), ("GET", "/"), ("GET", "/files/a")):
                answer = client.request(method, path, headers={"origin": origin})
                assert answer.status_code == 403 and "open the studio itself" in answer.text.lower()
            assert socket_status(port, {"origin": origin}) == 403
        assert client.get("/", headers={"origin": f"http://{own}"}).status_code == 200
        assert socket_status(port, {"origin": f"http://{own}"}) == 101
        assert socket_status(port) == 101
        forwarded = {"host": "localhost:9999", "origin": "http://localhost:9999"}
        assert client.get("/", headers=forwarded).status_code == 200
        assert client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}).status_code == 403
        assert (
            client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200
        )
        assert client.get("/", headers={"origin": "null", "sec-fetch-site": "same-origin"}).status_code == 200


def test_everything_needs_the_token_where_others_can_come(tmp_path):
    with guarded(tmp_path, host="0.0.0.0", token=TOKEN) as (_, client, port):
        for method, path in (("GET", "/"), ("POST", "/upload?name=a.obj"), ("GET", "/files/a.mp4"), ("GET", "/none")):
            answer = client.request(method, path)
            assert answer.status_code == 401 and "?token=" in answer.text
            mark = "&" if "?" in path else "?"
            for wrong in ("", "x", TOKEN + "x", TOKEN[:-1], "%ff%00", TOKEN.upper()):
                assert client.request(method, f"{path}{mark}token={wrong}").status_code == 401
        assert socket_status(port) == 401
        assert socket_status(port, query="?token=wrong") == 401
        assert socket_status(port, query=f"?token={TOKEN}") == 101
        assert socket_status(port, {"authorization": f"Bearer {TOKEN}"}) == 101
        assert client.get(f"/?token={TOKEN}&a=1").text == "page a=1"
        assert (
            client.get("/", headers={"authorization": f"Bearer {TOKEN}", "host": "gpu.example:80"}).status_code == 200
        )
        # the token does not excuse another page's request
        assert socket_status(port, {"origin": "http://evil.example"}, f"?token={TOKEN}") == 403


def test_the_link_sets_a_cookie_and_drops_the_token(tmp_path):
    with guarded(tmp_path, host="0.0.0.0", token=TOKEN) as (access, client, port):
        answer = client.get(f"/?token={TOKEN}&a=1", headers={"accept": "text/html,*/*"})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
        assert answer.headers["cache-control"] == "no-store"
        assert 'url=/?a=1"' in answer.text and TOKEN not in answer.text
        assert client.get("/").text == "page "
        pair = f"{access.cookie}={access.cookie_value}"
        assert socket_status(port, {"cookie": pair}) == 101
        assert socket_status(port, {"cookie": pair + "x"}) == 401
        assert socket_status(port, {"cookie": f"{access.cookie}="}) == 401
        # a path of another host's does not become the place to go on to
        answer = client.get(f"http://127.0.0.1:{port}//evil.example/?token={TOKEN}", headers={"accept": "text/html"})
        assert "//evil" not in answer.text


def test_headers_of_every_answer(tmp_path):
    with guarded(tmp_path, host="0.0.0.0", token=TOKEN) as (_, client, port):
        for path in ("/", f"/?token={TOKEN}", "/none"):
            headers = client.get(path, headers={"host": f"gpu.example:{port}"}).headers
            policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
            assert policy["default-src"] == "'self'" and policy["object-src"] == "'none'"
            assert f"ws://gpu.example:{port}" in policy["connect-src"].split()
            assert not {"*", "http:", "https:"} & set(" ".join(policy.values()).split())
            assert {"'self'", "http://localhost:*", "http://gpu.example:*"} <= set(policy["frame-ancestors"].split())
            assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


def test_downloads_serve_plain_files_of_one_folder(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    (files / "film 1.mp4").write_bytes(b"film")
    (files / ".hidden").write_bytes(b"no")
    (files / "sub").mkdir()
    (files / "sub" / "a.obj").write_bytes(b"no")
    (tmp_path / "secret").write_bytes(b"no")
    os.symlink(tmp_path / "secret", files / "link")
    with guarded(tmp_path) as (_, client, _):
        answer = client.get("/files/film%201.mp4")
        assert answer.content == b"film" and answer.headers["content-disposition"].startswith("attachment")
        names = (
            "link",
            ".hidden",
            "sub",
            "sub/a.obj",
            "..%2fsecret",
            "%2e%2e/secret",
            "%2fetc%2fpasswd",
            "none",
            "",
            "a%00b",
        )
        for name in names:
            assert client.get(f"/files/{name}").status_code == 404, name
