#!/usr/bin/env python3
"""A worker in Python's standard library: put your own work into handle() and run it.

    MUSTER_URL=http://127.0.0.1:8080 python3 examples/worker.py POOL

It takes jobs until there has been none for 30 seconds (MUSTER_IDLE_SECONDS). The service starts it
the same way, with the pool and a token in its environment.
"""
import json
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

URL = os.environ.get("MUSTER_URL", "http://127.0.0.1:8080")
POOL = os.environ.get("MUSTER_POOL_ID") or (sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__))
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
                with urllib.request.urlopen(request, timeout=40) as answer:
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
    """Renews the lease of the job in hand, and sets its `stop` when it is lost or cancelled."""

    def __init__(self, service, worker_id, interval):
        super().__init__(daemon=True)
        self.service, self.worker_id, self.interval = service, worker_id, interval
        self.job, self.stop, self.cancelled, self.ended = None, threading.Event(), False, False

    def begin(self, job_id):
        self.stop, self.cancelled = threading.Event(), False
        self.job = job_id

    def run(self):
        while not self.ended:
            time.sleep(self.interval)
            job, stop = self.job, self.stop
            try:
                beat = self.service.call("POST", f"/v1/workers/{self.worker_id}/heartbeat", {}, self.interval)
            except urllib.error.HTTPError as error:
                if error.code in (404, 410):
                    self.ended = True
                    stop.set()
                continue
            except OSError:
                continue
            self.ended = self.ended or beat["status"] == "terminating"
            if job is None or job != self.job:
                continue
            if any(c["type"] == "cancel" and c.get("job_id") == job for c in beat["commands"]):
                self.cancelled = True
                stop.set()
            elif all(lease["job_id"] != job for lease in beat["leases"]):
                stop.set()


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
    if heartbeat.stop.is_set():
        if not heartbeat.cancelled:
            return  # the job is not ours any more
        verb, report = "fail", {"lease_token": job["lease_token"], "cancelled": True}
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
    jobs, idle_since = 0, time.monotonic()
    while not heartbeat.ended and (left := idle_since + IDLE_SECONDS - time.monotonic()) > 0:
        claim = {"worker_id": worker_id, "wait_seconds": min(left, 20)}
        answer = service.call("POST", f"/v1/pools/{POOL}/claim", claim)
        if answer["worker_status"] == "terminating":
            break
        for job in answer["items"]:
            work_on(service, job, heartbeat)
            jobs, idle_since = jobs + 1, time.monotonic()
    heartbeat.ended = True
    if jobs == 0:
        print("no_work_available")
    service.call("PATCH", f"/v1/workers/{worker_id}", {"status": "terminated"}, give_up_after=3)


if __name__ == "__main__":
    try:
        main()
    except urllib.error.HTTPError as refusal:
        print(f"{refusal.code} {refusal.read().decode()}", file=sys.stderr)
        sys.exit(0 if refusal.code == 410 else 1)
