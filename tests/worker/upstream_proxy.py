"""Stands between a worker and the service, and keeps back all but the first page of what upstream
jobs left.

    upstream_proxy.py URL_OF_THE_SERVICE

Its address is written into proxy.url.
"""
import http.client
import http.server
import os
import sys
import urllib.parse

SERVICE = urllib.parse.urlsplit(sys.argv[1]).netloc


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, content_type, content):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "/upstream?" in self.path and "cursor=" in self.path:
            self.answer(500, "application/problem+json", b'{"detail": "no more of it"}')
            return
        service = http.client.HTTPConnection(SERVICE)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length")}
        service.request(self.command, self.path, body, headers)
        answer = service.getresponse()
        self.answer(answer.status, answer.getheader("Content-Type", ""), answer.read())

    do_GET = do_POST = do_PATCH = pass_on

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("proxy.url.new", "w") as out:
    out.write("http://127.0.0.1:%d" % server.server_port)
os.rename("proxy.url.new", "proxy.url")
server.serve_forever()
