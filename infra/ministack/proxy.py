"""Reverse proxies on 127.0.0.1.

`Proxy` is the base and changes nothing. `Gateway` gives the deployed API and the Function URL the addresses that they have
on AWS: a stage and then the API root, so that a `Location` of a function is right.
"""

import http.client
import http.server
import socketserver
import threading

# Headers of one connection only (RFC 9110, section 7.6.1).
HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
# Longer than the longest function that answers a request.
UPSTREAM_TIMEOUT_S = 200


class Proxy(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Passes every request on to `upstream`, a port of this machine."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port, upstream):
        super().__init__(("127.0.0.1", port), Handler)
        self.upstream = upstream

    @property
    def port(self):
        return self.server_address[1]

    def start(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()
        return self

    def rewritten(self, path, host):
        """The path and the `Host` that upstream is asked for. None for a path that is not there."""
        return path, host

    def seen(self, method, path, headers, body, status):
        """Called with each request after its answer."""

    def server_bind(self):
        # Without the name lookup of `HTTPServer`, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address

    def handle_error(self, request, client_address):
        """A connection that its client closed is no error."""


class Gateway(Proxy):
    """`/STAGE/…` is the REST API, and `/ingest/…` the Function URL of the ingest function."""

    def __init__(self, port, upstream, stage, api_id, ingest_url_id):
        super().__init__(port, upstream)
        self.stage, self.api_id, self.ingest_url_id = stage, api_id, ingest_url_id

    def rewritten(self, path, host):
        # AWS hands a path to a function as it was sent; MiniStack decodes it once.
        path, *query = path.split("?", 1)
        path = "?".join([path.replace("%", "%25"), *query])
        if path.startswith(f"/{self.stage}/"):
            return path, f"{self.api_id}.execute-api.localhost:{self.upstream}"
        if path == "/ingest" or path.startswith("/ingest/"):
            return path.removeprefix("/ingest") or "/", f"{self.ingest_url_id}.lambda-url.us-east-1.localhost:{self.upstream}"
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream = None

    def log_message(self, *_arguments):
        """The emulator logs requests."""

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def __getattr__(self, name):
        # Every method has the same handler, also those that HTTP does not know.
        if name.startswith("do_"):
            return self.forward
        raise AttributeError(name)

    def forward(self):
        body = self.whole_body()
        target = self.server.rewritten(self.path, self.headers.get("Host", ""))
        if target is None:
            self.answer(404, [("Content-Type", "text/plain")], b"There is nothing at this path.\n")
            return
        path, host = target
        try:
            response = self.asked(path, host, body)
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.drop_upstream()
            self.answer(502, [("Content-Type", "text/plain")], f"The emulator does not answer: {error!r}\n".encode())
            return
        self.answer(response.status, response.getheaders(), content)
        self.server.seen(self.command, path, self.headers, body, response.status)

    def whole_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def asked(self, path, host, body):
        """The answer of upstream, over one connection for each of ours. A kept connection may be closed: once more then."""
        for is_last in (self.upstream is None, True):
            if self.upstream is None:
                self.upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=UPSTREAM_TIMEOUT_S)
            try:
                self.upstream.putrequest(self.command, path, skip_host=True, skip_accept_encoding=True)
                self.upstream.putheader("Host", host)
                for name, value in self.headers.items():
                    if name.lower() not in HOP_BY_HOP | {"host", "content-length", "expect"}:
                        self.upstream.putheader(name, value)
                if body or self.headers.get("Content-Length") is not None:
                    self.upstream.putheader("Content-Length", str(len(body)))
                self.upstream.endheaders(body or None)
                return self.upstream.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                self.drop_upstream()
                if is_last:
                    raise
        raise AssertionError("unreachable")

    def drop_upstream(self):
        if self.upstream is not None:
            self.upstream.close()
            self.upstream = None

    def answer(self, status, headers, content):
        self.send_response_only(status)
        has_length = False
        for name, value in headers:
            # The answer to a HEAD has the length of what is not sent.
            has_length = has_length or name.lower() == "content-length"
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if not has_length and status >= 200 and status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def finish(self):
        self.drop_upstream()
        super().finish()
