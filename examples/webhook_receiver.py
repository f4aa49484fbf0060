#!/usr/bin/env python3
"""Receives webhooks of Muster (or of anybody who follows standardwebhooks.com), with nothing but
Python's standard library.

    WEBHOOK_SECRET=whsec_… python3 examples/webhook_receiver.py 8000
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time

TOLERANCE_SECONDS = 300


def verify(secret, headers, body, now=None):
    """Whether whoever sent the body (the bytes as they came) knows the secret."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    message_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not stamp.isdigit() or abs((now or time.time()) - int(stamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{message_id}.{stamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    # Several while the secret is being rotated.
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(one.encode(), f"v1,{expected}".encode()) for one in given)


class Receiver(http.server.BaseHTTPRequestHandler):
    seen = set()  # ids of messages: each comes at least once. Keep yours where your data is.

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not verify(os.environ["WEBHOOK_SECRET"], self.headers, body):
            self.send_error(401)
            return
        message_id = self.headers["webhook-id"]
        if message_id not in self.seen:
            self.handle_message(json.loads(body))
            self.seen.add(message_id)
        self.send_response(204)
        self.end_headers()

    def handle_message(self, message):
        print(message["type"], message["data"].get("job_id", ""), flush=True)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
