"""Who may come in: a token, and checks of the Host and Origin headers, in front of everything the server has.

A server on this machine alone needs no token: the Host check keeps out pages that point a name of theirs at this
machine (DNS rebinding), and the Origin check keeps out requests that other pages make in the user's browser. A server
that others can reach needs a token besides. Plain ASGI: it guards pages, sockets, uploads and files alike.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import ipaddress
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from pliant.errors import InputError
from pliant.studio.options import StudioOptions

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

SHORTEST_TOKEN = 8
TOKEN = re.compile(r"[A-Za-z0-9._~-]*")
# What a Host header may hold; it is repeated in a header of ours, where a blank or a semicolon would do harm.
HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}

NO_TOKEN = "This studio needs its token: open the link that it printed when it started, which ends in ?token=..."
WRONG_TOKEN = "This token is not the right one: open the link that the studio printed when it last started."
WRONG_HOST = "This studio serves its own machine only: open it as localhost or 127.0.0.1, or start it with --host."
WRONG_ORIGIN = "Another page asked for this: open the studio itself, by the link that it printed when it started."


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Access:
    """Decides about requests.

    Attributes:
        token: that every request must carry, in its link, its cookie or as ``Authorization: Bearer``; None: no need.
        loopback: whether only this machine can reach the server.
    """

    def __init__(self, options: StudioOptions):
        self.loopback = is_loopback(options.host)
        self.token = options.token
        if self.token is not None and (len(self.token) < SHORTEST_TOKEN or not TOKEN.fullmatch(self.token)):
            raise InputError(
                f"a token of {len(self.token)} characters cannot be used",
                "token",
                f"Give at least {SHORTEST_TOKEN} letters, digits or any of . _ ~ -, or leave it out to have one made",
            )
        if self.token is None and not self.loopback:
            self.token = secrets.token_urlsafe(24)
        # Cookies know no ports: each studio of a machine has a name of its own, and the token itself is not in it.
        secret = (self.token or "").encode()
        self.cookie = "pliant_" + hashlib.sha256(b"name " + secret).hexdigest()[:12]
        self.cookie_value = hmac.new(secret, b"pliant studio", hashlib.sha256).hexdigest()

    def link(self, host: str, port: int, path: str = "/") -> str:
        """The link to give to people."""
        shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{shown}:{port}{path}" + (f"?token={self.token}" if self.token else "")

    def refusal(self, headers: dict[str, str], token: str | None) -> tuple[int, str] | None:
        """Status and reason to refuse a request with; None when it may pass.

        Args:
            headers: names in small letters.
            token: that of the link, if any.
        """
        host = headers.get("host", "")
        if not HOST.fullmatch(host) or (self.loopback and not is_loopback(_name(host))):
            return 403, WRONG_HOST
        if not _same_origin(headers, host):
            return 403, WRONG_ORIGIN
        if self.token is None or self.has_cookie(headers):
            return None
        given = token if token is not None else _bearer(headers)
        if given is None:
            return 401, NO_TOKEN
        return None if self.is_token(given) else (401, WRONG_TOKEN)

    def is_token(self, given: str) -> bool:
        """Whether this is the token; takes the same time however much of it is right."""
        return self.token is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def has_cookie(self, headers: dict[str, str]) -> bool:
        """Whether a request carries the cookie that the link sets."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(
            found.value.encode("utf-8", "replace"), self.cookie_value.encode()
        )

    def security_headers(self, host: str) -> list[tuple[bytes, bytes]]:
        """Headers of every answer.

        The page may ask nobody but this server. NiceGUI needs inline scripts, and Vue compiles its templates by eval.
        A notebook on this machine or on the host that serves the page may show it in a frame.
        """
        own = f"ws://{host} wss://{host}" if HOST.fullmatch(host) else ""
        name = _name(host) if own and "[" not in host else "localhost"
        frames = [
            f"{scheme}://{each}:*"
            for each in dict.fromkeys(("localhost", "127.0.0.1", name))
            for scheme in ("http", "https")
        ]
        policy = {
            "default-src": "'self'",
            "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data: blob:",
            "font-src": "'self' data:",
            "media-src": "'self' data: blob:",
            "connect-src": f"'self' data: blob: {own}".strip(),
            "worker-src": "'self' blob:",
            "object-src": "'none'",
            "base-uri": "'self'",
            "form-action": "'self'",
            "frame-ancestors": " ".join(["'self'", *frames, "vscode-webview:", "vscode-file:"]),
        }
        return [
            (b"content-security-policy", "; ".join(f"{key} {value}" for key, value in policy.items()).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), usb=(), serial=(), payment=()"),
        ]


class AccessMiddleware:
    """ASGI middleware that lets `Access` decide about every request and every socket."""

    def __init__(self, app: Application, access: Access):
        self.app = app
        self.access = access

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        extra = self.access.security_headers(headers.get("host", ""))
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in query if name == "token"), None)
        # Two Host headers could be read as one here and as the other elsewhere.
        doubled = sum(name.lower() == b"host" for name, _ in scope["headers"]) > 1
        refused = (403, WRONG_HOST) if doubled else self.access.refusal(headers, token)
        if refused is not None:
            return await _refuse(scope, receive, send, *refused, extra)
        if token is not None:
            # The token is of no use further in, where it could be written to a log.
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            if self.access.is_token(token) and _wants_page(scope, headers):
                return await _enter(self.access, scope, send, rest, extra)
            scope = {**scope, "query_string": rest.encode()}

        async def send_guarded(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                own = {name for name, _ in extra}
                kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in own]
                message = {**message, "headers": [*kept, *extra]}
            await send(message)

        await self.app(scope, receive, send_guarded)


def _name(host: str) -> str:
    """The name of a Host header, without its port."""
    return host.rsplit(":", 1)[0] if re.search(r":[0-9]+$", host) and not host.endswith("]") else host


def _same_origin(headers: dict[str, str], host: str) -> bool:
    """Whether a request comes from a page of this server, or from no page at all."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is None:
        # Pictures and scripts that another page asks for carry none; a link that is followed may come from anywhere.
        return site != "cross-site" or headers.get("sec-fetch-mode") == "navigate"
    if origin == "null":
        # Sent by our own page too where no referrer may be told; browsers let no page forge the other header.
        return site == "same-origin"
    try:
        parts = urlsplit(origin)
        return _with_port(parts.netloc, parts.scheme) == _with_port(host, parts.scheme)
    except ValueError:
        return False


def _with_port(netloc: str, scheme: str) -> tuple[str, int]:
    parts = urlsplit(f"//{netloc}")
    return (parts.hostname or "").lower(), parts.port or DEFAULT_PORTS.get(scheme, 0)


def _bearer(headers: dict[str, str]) -> str | None:
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else None


def _wants_page(scope: Message, headers: dict[str, str]) -> bool:
    """Whether a browser opens this as a page; scripts and sockets take the answer as it is."""
    return scope["type"] == "http" and scope["method"] == "GET" and "text/html" in headers.get("accept", "")


async def _enter(access: Access, scope: Message, send: Send, query: str, extra: list[tuple[bytes, bytes]]) -> None:
    """Set the cookie and go on to the same page without the token.

    By a page that moves on rather than by a redirect: a browser sends a strict cookie only where it was our own page
    that led on, and the link may have been followed from anywhere.
    """
    path = "/" + quote(scope.get("root_path", "") + scope["path"]).lstrip("/")
    target = html.escape(path + (f"?{query}" if query else ""), quote=True)
    body = (
        '<!doctype html><meta charset="utf-8"><title>Pliant</title>'
        f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">Open the studio</a>'
    ).encode()
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    cookie = f"{access.cookie}={access.cookie_value}; Path=/; HttpOnly; SameSite=Strict{secure}"
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"set-cookie", cookie.encode()),
        *extra,
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _refuse(
    scope: Message, receive: Receive, send: Send, status: int, reason: str, extra: list[tuple[bytes, bytes]]
) -> None:
    body = (reason + "\n").encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
        *extra,
    ]
    kind = "http.response"
    if scope["type"] == "websocket":
        await receive()
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})
            return
        kind = "websocket.http.response"
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})
