"""Stands between workers and the service, and holds a worker at a step of its life.

    step_proxy.py URL_OF_THE_SERVICE

Each step has an address of its own, written into STEP.url. The first request that belongs to the
step is held: STEP.held appears, and it goes on when STEP.go does. All others pass.
"""
import http.client
import http.server
import os
import sys
import threading
import time
import urllib.parse

SERVICE = urllib.parse.urlsplit(sys.argv[1]).netloc
# The request, and whether it is held itself or the service's answer to it is.
STEPS = {
    "before_register": ("/v1/workers", False),
    "before_claim": ("/claim", False),
    "before_report": ("/complete", False),
    "after_report": ("/complete", True),
}


def write(file, text=""):
    with open(file + ".new", "w") as out:
        out.write(text)
    os.rename(file + ".new", file)


def handler_of(step):
    ending, holds_answer = STEPS[step]
    first = threading.Lock()

    def hold():
        write(step + ".held")
        while not os.path.exists(step + ".go"):
            time.sleep(0.02)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_held = self.path.endswith(ending) and first.acquire(blocking=False)
            if is_held and not holds_answer:
                hold()
            service = http.client.HTTPConnection(SERVICE)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length")}
            service.request(self.command, self.path, body, headers)
            answer = service.getresponse()
            content = answer.read()
            if is_held and holds_answer:
                hold()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("Content-Type", ""))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = pass_on

        def log_message(self, *_):
            pass

    return Handler


for name in STEPS:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(name))
    threading.Thread(target=server.serve_forever).start()
    write(name + ".url", "http://127.0.0.1:%d" % server.server_port)
