"""Drives the service through the client that openapi-python-client makes."""
import os

import httpx
from muster_client import AuthenticatedClient
from muster_client.api.jobs import cancel_job, claim_jobs, complete_job, get_job, push_job
from muster_client.models import Claim, ClaimResult, Completion, Job, JobSpec, Problem

POOL = "client-python"
DATA = {"text": "Zoë 𝄞", "list": [1, 0.5, None], "big": 9007199254740993}
RESULT = {"pages": 12}


def same(got, expected):
    assert got == expected, f"got {got!r}, expected {expected!r}"


# The service may wait 30 seconds before it answers. Without a timeout the client would wait forever.
client = AuthenticatedClient(
    os.environ["MUSTER_URL"], token=os.environ["MUSTER_TOKEN"], timeout=httpx.Timeout(40)
)
with client:
    spec = JobSpec(data=DATA, priority=7)
    pushed = push_job.sync(POOL, client=client, body=spec, idempotency_key="once")
    assert isinstance(pushed, Job), pushed
    again = push_job.sync(POOL, client=client, body=spec, idempotency_key="once")
    assert isinstance(again, Job), again
    same(again.id, pushed.id)
    same(pushed.status, "pending")
    same(pushed.priority, 7)

    claim = claim_jobs.sync(POOL, client=client, body=Claim(worker_id="python-1"))
    assert isinstance(claim, ClaimResult), claim
    same(len(claim.items), 1)
    claimed = claim.items[0]
    same(claimed.id, pushed.id)
    same(claimed.data, DATA)

    completion = Completion(lease_token=claimed.lease_token, result=RESULT)
    complete_job.sync(pushed.id, client=client, body=completion)
    shown = get_job.sync(pushed.id, client=client)
    assert isinstance(shown, Job), shown
    same(shown.status, "done")
    same(shown.result, RESULT)

    # A body that may be left out.
    unwanted = push_job.sync(POOL, client=client, body=JobSpec(data=DATA))
    assert isinstance(unwanted, Job), unwanted
    cancelled = cancel_job.sync(unwanted.id, client=client)
    assert isinstance(cancelled, Job), cancelled
    same(cancelled.status, "cancelled")

    refused = push_job.sync_detailed(POOL, client=client, body=JobSpec(data=DATA, max_retries=1001))
    same(refused.status_code, 422)
    problem = refused.parsed
    assert isinstance(problem, Problem), problem
    same(problem.code, "validation_failed")
    same(problem.errors[0].pointer, "/max_retries")
    print("job", pushed.id)
