"""The way of a job and of a flow through the client that openapi-generator makes of openapi.yaml."""
import datetime
import os

import muster_client
from muster_client import Claim, Completion, FlowJobSpec, FlowsApi, FlowSpec, JobsApi, JobSpec, PoolsApi

POOL = "contract-python"
FLOW_POOL = "contract-python-flow"
DATA = {"text": "Zoë 𝄞", "list": [1, 0.5, None], "nested": {"yes": True}}
RESULT = {"pages": 12, "ratio": 0.25}


def same(got, expected):
    assert got == expected, f"got {got!r}, expected {expected!r}"


def drive(jobs, pools):
    pushed = jobs.push_job(POOL, JobSpec(data=DATA, priority=7, max_retries=2))
    same(pushed.status, "pending")
    same(pushed.priority, 7)
    same(pushed.max_retries, 2)
    same(pushed.attempts, 0)
    same(pushed.data, DATA)
    same(pools.get_pool_stats(POOL).queue_depth, 1)

    claim = jobs.claim_jobs(POOL, Claim(worker_id="py-1"))
    same(len(claim.items), 1)
    claimed = claim.items[0]
    same(claimed.id, pushed.id)
    same(claimed.attempt, 1)
    same(claimed.claimed_by, "py-1")
    same(claimed.effect_key, pushed.effect_key)
    same(claimed.data, DATA)
    assert claimed.lease_expires_at > datetime.datetime.now(datetime.timezone.utc)

    try:
        jobs.complete_job(pushed.id, completion=Completion(lease_token="not-the-token"))
        raise AssertionError("a wrong token was accepted")
    except muster_client.ApiException as refused:
        same(refused.status, 409)
        same(refused.data.code, "lease_lost")

    done = Completion(lease_token=claimed.lease_token, result=RESULT)
    same(jobs.complete_job(pushed.id, completion=done).status, "done")

    shown = jobs.get_job(pushed.id)
    same(shown.status, "done")
    same(shown.attempts, 1)
    same(shown.data, DATA)
    same(shown.result, RESULT)
    assert isinstance(shown.finished_at, datetime.datetime)
    same(jobs.claim_jobs(POOL, Claim(worker_id="py-1")).items, [])
    print(f"job {pushed.id} pushed, claimed, completed and shown")


def drive_flow(flows, jobs):
    """Two jobs, of which the second gets the result of the first."""
    first = FlowJobSpec(name="first", pool_id=FLOW_POOL, data=1)
    second = FlowJobSpec(name="second", pool_id=FLOW_POOL, data=2, after=["first"])
    created = flows.create_flow(FlowSpec(name="contract", jobs=[first, second]))
    same([job.status for job in created.jobs], ["pending", "blocked"])
    same(created.flow.counts.blocked, 1)

    claimed = jobs.claim_jobs(FLOW_POOL, Claim(worker_id="py-2")).items[0]
    same(claimed.name, "first")
    same(claimed.flow.flow_id, created.flow.flow_id)
    done = Completion(lease_token=claimed.lease_token, result=RESULT)
    jobs.complete_job(claimed.id, completion=done)

    claimed = jobs.claim_jobs(FLOW_POOL, Claim(worker_id="py-2")).items[0]
    same(claimed.name, "second")
    same(claimed.upstream.items[0].result, RESULT)
    jobs.complete_job(claimed.id, completion=Completion(lease_token=claimed.lease_token))

    ended = flows.get_flow(created.flow.flow_id, wait_seconds=30)
    same(ended.status, "succeeded")
    same(ended.counts.done, 2)
    edge = flows.list_flow_edges(created.flow.flow_id).items[0]
    same((edge.to, edge.when), ("second", "after"))
    print(f"flow {ended.flow_id} created, run and shown")


with muster_client.ApiClient(muster_client.Configuration(host=os.environ["MUSTER_URL"])) as client:
    drive(JobsApi(client), PoolsApi(client))
    drive_flow(FlowsApi(client), JobsApi(client))
