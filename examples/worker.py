#!/usr/bin/env python3
"""A worker in Python's standard library: put your own work into handle() and run it.

    MUSTER_URL=http://127.0.0.1:8080 python3 examples/worker.py POOL

It takes jobs until there has been none for 30 seconds (MUSTER_IDLE_SECONDS). SIGTERM stops the job in
hand and gives it back. The service starts it the same way, with the pool and a token in its environment.
"""
import json
import os
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request

URL = os.environ.get("MUSTER_URL", "http://127.0.0.1:8080")
POOL = os.environ.get("MUSTER_POOL_ID") or (sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__))
# Over TLS: the certificates to trust, or else those of this machine.
TLS = ssl.create_default_context(cafile=os.environ.get("MUSTER_CA") or None)
TLS.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
IDLE_SECONDS = float(os.environ.get("MUSTER_IDLE_SECONDS", "30"))


class TryLater(Exception):
    """Raised by handle(): the job comes back in `seconds`, and this try does not count."""

    def __init__(self, why, seconds=10):
        super().__init__(why)
        self.seconds = seconds


def handle(data, stop):
    """The work itself: what it returns is the result. `stop` is set when the job must not go on."""
    if isinstance(data, dict) and "delay_seconds" in data:
        stop.wait(data["delay_seconds"])
    return data


class Service:
    def __init__(self, token):
        self.token = token

    def call(self, method, path, body, give_up_after=30.0):
        """The answer. Tried again while the service is away or busy; other refusals are raised."""
        deadline, pause = time.monotonic() + give_up_after, 0.2
        while True:
            request = urllib.request.Request(URL + path, json.dumps(body).encode(), method=method)
            request.add_header("Content-Type", "application/json")
            if self.token:
                request.add_header("Authorization", "Bearer " + self.token)
            try:
                with urllib.request.urlopen(request, timeout=40, context=TLS) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code not in (429, 500, 502, 503, 504) or time.monotonic() > deadline:
                    raise
                pause = max(pause, float(error.headers.get("Retry-After", 0)))
            except OSError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 5.0)


class Heartbeat(threading.Thread):
    """Renews the lease of the job in hand, and stops it when it is lost or cancelled."""

    def __init__(self, service, worker_id, interval):
        super().__init__(daemon=True)
        self.service, self.worker_id, self.interval = service, worker_id, interval
        self.job, self.stop, self.why, self.leaving = None, threading.Event(), None, False

    def begin(self, job_id):
        self.stop, self.why, self.job = threading.Event(), None, job_id
        if self.leaving:
            self.end_job("shutdown", self.stop)

    def end_job(self, why, stop):
        self.why = self.why or why
        stop.set()

    def on_sigterm(self, *_):
        self.leaving = True
        self.end_job("shutdown", self.stop)

    def run(self):
        while True:
            time.sleep(self.interval)
            job, stop = self.job, self.stop
            try:
                beat = self.service.call("POST", f"/v1/workers/{self.worker_id}/heartbeat", {}, self.interval)
            except urllib.error.HTTPError as error:
                if error.code in (404, 410):
                    self.leaving = True
                    self.end_job("lost", stop)
                continue
            except OSError:
                continue
            self.leaving = self.leaving or beat["status"] == "terminating"
            if job is None or job != self.job:
                continue
            if any(c["type"] == "cancel" and c.get("job_id") == job for c in beat["commands"]):
                self.end_job("cancelled", stop)
            elif all(lease["job_id"] != job for lease in beat["leases"]):
                self.end_job("lost", stop)


def work_on(service, job, heartbeat):
    report = {"lease_token": job["lease_token"]}
    heartbeat.begin(job["id"])
    verb = "fail"
    try:
        result = handle(job["data"], heartbeat.stop)
        verb = "complete"
        report["result"] = result
    except TryLater as later:
        report.update(error=str(later), no_penalty=True, retry_after_seconds=later.seconds)
    except Exception as error:  # whatever it was, the try has failed
        report["error"] = f"{type(error).__name__}: {error}"
    heartbeat.job = None
    if heartbeat.why == "lost":
        return  # the job is not ours any more
    if heartbeat.why == "cancelled":
        verb, report = "fail", {"lease_token": job["lease_token"], "cancelled": True}
    elif heartbeat.why == "shutdown":
        verb, report = "release", {"lease_token": job["lease_token"]}
    try:
        service.call("POST", f"/v1/jobs/{job['id']}/{verb}", report, give_up_after=60)
    except urllib.error.HTTPError as error:
        print(f"job {job['id']}: {error.code} {error.read().decode()}", file=sys.stderr)


def main():
    service = Service(os.environ.get("MUSTER_WORKER_TOKEN") or os.environ.get("MUSTER_TOKEN"))
    me = {"pool_id": POOL, "host": socket.gethostname(), "pid": os.getpid(), "mode": "loop"}
    for name in ("worker_id", "launch_token"):
        if value := os.environ.get("MUSTER_" + name.upper()):
            me[name] = value
    registered = service.call("POST", "/v1/workers", me)
    service.token = registered["worker_token"]
    worker_id = registered["worker_id"]
    interval = min(registered["heartbeat_interval_seconds"], registered["lease_seconds"] / 3)
    heartbeat = Heartbeat(service, worker_id, interval)
    heartbeat.start()
    signal.signal(signal.SIGTERM, heartbeat.on_sigterm)
    jobs, idle_since = 0, time.monotonic()
    while not heartbeat.leaving and (left := idle_since + IDLE_SECONDS - time.monotonic()) > 0:
        # A short wait: SIGTERM is heard when the claim is answered.
        claim = {"worker_id": worker_id, "wait_seconds": min(left, 3)}
        answer = service.call("POST", f"/v1/pools/{POOL}/claim", claim)
        if answer["worker_status"] == "terminating":
            break
        for job in answer["items"]:
            work_on(service, job, heartbeat)
            jobs, idle_since = jobs + 1, time.monotonic()
    if jobs == 0:
        print("no_work_available")
    service.call("PATCH", f"/v1/workers/{worker_id}", {"status": "terminated"}, give_up_after=3)


if __name__ == "__main__":
    try:
        main()
    except urllib.error.HTTPError as refusal:
        print(f"{refusal.code} {refusal.read().decode()}", file=sys.stderr)
        sys.exit(0 if refusal.code == 410 else 1)
