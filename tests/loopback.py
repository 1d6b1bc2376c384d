"""A server on this machine's loopback that answers as a model's API: recorded response bodies, in order."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple


class Body(NamedTuple):
    """A response: server-sent events, or JSON. `cut` bytes go out at a time; `stalls`: it never ends."""

    data: bytes
    content_type: str = "text/event-stream"
    status: int = 200
    cut: int | None = None
    stalls: bool = False


class Asked(NamedTuple):
    path: str
    headers: dict[str, str]
    json: Any


class Loopback:
    """The address to give to an SDK, and the requests that came."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[Asked] = []
        self.gone = threading.Event()
        """Set when a client went away in the middle of a response."""
        self.closing = threading.Event()


@contextmanager
def loopback(*bodies: Body) -> Iterator[Loopback]:
    """Serves `bodies`, one a request; a further request is a server error."""
    left = list(bodies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["content-length"]))
            server.requests.append(Asked(self.path, dict(self.headers), json.loads(asked)))
            body = (
                left.pop(0) if left else Body(b'{"error": {"message": "no response is left"}}', "application/json", 400)
            )
            self.send_response(body.status)
            self.send_header("content-type", body.content_type)
            self.send_header("connection", "close")
            self.close_connection = True
            self.end_headers()
            cut = body.cut or len(body.data)
            for at in range(0, len(body.data), cut):
                self.wfile.write(body.data[at : at + cut])
                self.wfile.flush()
            try:
                while body.stalls and not server.closing.wait(0.02):
                    self.wfile.write(b": wait\n\n")
                    self.wfile.flush()
            except OSError:
                server.gone.set()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = Loopback(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            http.shutdown()
            thread.join()


def sse(*events: dict[str, Any], done: bool = False) -> bytes:
    """Events as a body of server-sent events, each named by its `type` where it has one."""
    lines = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n" for event in events
    ]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def recorded(path: Path, *, done: bool) -> bytes:
    """A recorded stream as a body: as it was received, or its payloads as events."""
    data = path.read_bytes()
    if path.suffix != ".jsonl":
        return data
    return sse(*(json.loads(line) for line in data.splitlines() if line.strip()), done=done)
