"""The page of a review, served on this machine alone.

Only requests for 127.0.0.1 or localhost that know the token in the address get an answer: another site that a browser
shows can neither read the page nor decide anything. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socketserver
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from ..errors import ConfigError, GdamnError
from ..system.io import to_json
from .page import policy, render

if TYPE_CHECKING:
    from .session import Session

HOST = "127.0.0.1"
MOST_BODY = 65_536
"""Bytes of a decision: ids and a class."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class RefusedError(Exception):
    """A request that gets no answer but its status."""

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status


class ReviewServer(ThreadingHTTPServer):
    """Serves one session at an address that nobody can guess.

    Args:
        port: 0 takes a free one.
    """

    daemon_threads = True

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session, self.token = session, secrets.token_urlsafe(24)
        try:
            super().__init__((HOST, port), Handler)
        except (OSError, OverflowError) as cause:
            reason = getattr(cause, "strerror", None) or cause
            raise ConfigError(f"Port {port} can't be used ({reason}); choose another --port, or 0 for any.") from None

    def server_bind(self) -> None:
        """Bind without asking for the name of the machine, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser that was given the address calls this server."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no news."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: ReviewServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "gdamn", ""
    timeout = 30

    def do_GET(self) -> None:
        """The page, and what it shows."""
        with self.refusing():
            path, session = self.asked(), self.server.session
            if path == "":
                self.answer(render(session.about()).encode(), "text/html; charset=utf-8")
            elif path == "state":
                queue = parse_qs(urlsplit(self.path).query).get("queue", [""])[0]
                self.answer_json(lambda: session.state(queue))
            else:
                raise RefusedError(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """A decision, or its undoing."""
        with self.refusing():
            path, session = self.asked(), self.server.session
            content = self.body()
            if path == "decide":
                self.answer_json(lambda: session.decide(content))
            elif path == "undo":
                self.answer_json(session.undo)
            else:
                raise RefusedError(HTTPStatus.NOT_FOUND)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Say no to what is refused within the block, and nothing else."""
        try:
            yield
        except RefusedError as refused:
            self.close_connection = True
            text = f"{refused.status.value} {refused.status.phrase}\n"
            self.answer(text.encode(), "text/plain; charset=utf-8", refused.status)

    def asked(self) -> str:
        """What is asked for behind the token, by a page of this server or by nobody's."""
        origin = self.headers.get("Origin")
        token, slash, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        known = hmac.compare_digest(token.encode(), self.server.token.encode())
        ours = origin is None or origin in {f"http://{host}" for host in self.server.hosts}
        if self.headers.get("Host") not in self.server.hosts or not ours or not slash or not known:
            raise RefusedError(HTTPStatus.FORBIDDEN)
        return rest

    def body(self) -> Mapping[str, Any]:
        """The JSON object that was sent."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json" or not (length.isascii() and length.isdigit()):
            raise RefusedError(HTTPStatus.BAD_REQUEST)
        if int(length) > MOST_BODY:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            content = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST)
        return content

    def answer_json(self, make: Callable[[], dict[str, Any]]) -> None:
        """What a session says; a sentence where it refuses."""
        try:
            content, status = make(), HTTPStatus.OK
        except GdamnError as problem:
            content, status = {"error": str(problem)}, HTTPStatus.CONFLICT
        self.answer(to_json(content).encode(), "application/json", status)

    def answer(self, content: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        """Send a whole answer with the headers that keep the page to itself."""
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Security-Policy": policy(), "Content-Type": kind}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are no news; their addresses hold the token."""
