// The way of a job and of a flow through the client that openapi-typescript and openapi-fetch make of openapi.yaml.
// It compiles with `tsc --strict` against the generated types, then runs against the service.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const client = createClient<paths>({ baseUrl: process.env.MUSTER_URL ?? "" });

function answered<T>(call: { data?: T; error?: components["schemas"]["Problem"] }): T {
  assert.equal(call.error, undefined, JSON.stringify(call.error));
  assert.ok(call.data !== undefined);
  return call.data;
}

const pool = { path: { pool_id: "contract-typescript" } };
const data = { text: "Zoë 𝄞", list: [1, 0.5, null], nested: { yes: true } };

const spec: components["schemas"]["JobSpec"] = { data, priority: 7, max_retries: 2 };
const pushed = answered(
  await client.POST("/v1/pools/{pool_id}/jobs", { params: pool, body: spec }),
);
assert.equal(pushed.status, "pending");
assert.equal(pushed.priority, 7);
assert.equal(pushed.max_retries, 2);
assert.equal(pushed.attempts, 0);
assert.deepEqual(pushed.data, data);

const stats = answered(await client.GET("/v1/pools/{pool_id}/stats", { params: pool }));
assert.equal(stats.queue_depth, 1);

const claim = answered(
  await client.POST("/v1/pools/{pool_id}/claim", { params: pool, body: { worker_id: "ts-1" } }),
);
const claimed = claim.items[0];
assert.ok(claimed);
assert.equal(claim.items.length, 1);
assert.equal(claimed.id, pushed.id);
assert.equal(claimed.attempt, 1);
assert.equal(claimed.claimed_by, "ts-1");
assert.equal(claimed.effect_key, pushed.effect_key);
assert.deepEqual(claimed.data, data);

const job = { path: { job_id: pushed.id } };
const refused = await client.POST("/v1/jobs/{job_id}/complete", {
  params: job,
  body: { lease_token: "not-the-token" },
});
assert.equal(refused.response.status, 409);
assert.equal(refused.error?.code, "lease_lost");

const result = { pages: 12, ratio: 0.25 };
const completed = answered(
  await client.POST("/v1/jobs/{job_id}/complete", {
    params: job,
    body: { lease_token: claimed.lease_token, result },
  }),
);
assert.equal(completed.status, "done");

const shown = answered(await client.GET("/v1/jobs/{job_id}", { params: job }));
assert.equal(shown.status, "done");
assert.equal(shown.attempts, 1);
assert.deepEqual(shown.data, data);
assert.deepEqual(shown.result, result);
assert.ok(shown.finished_at !== undefined && !Number.isNaN(Date.parse(shown.finished_at)));

const none = answered(
  await client.POST("/v1/pools/{pool_id}/claim", { params: pool, body: { worker_id: "ts-1" } }),
);
assert.deepEqual(none.items, []);
console.log(`job ${pushed.id} pushed, claimed, completed and shown`);

// Two jobs, of which the second gets the result of the first.
const flowPool = "contract-typescript-flow";
const flowSpec: components["schemas"]["FlowSpec"] = {
  name: "contract",
  jobs: [
    { name: "first", pool_id: flowPool, data: 1 },
    { name: "second", pool_id: flowPool, data: 2, after: ["first"] },
  ],
};
const created = answered(await client.POST("/v1/flows", { body: flowSpec }));
assert.deepEqual(
  created.jobs.map((each) => each.status),
  ["pending", "blocked"],
);
async function claimInFlow() {
  const { items } = answered(
    await client.POST("/v1/pools/{pool_id}/claim", {
      params: { path: { pool_id: flowPool } },
      body: { worker_id: "ts-2" },
    }),
  );
  assert.ok(items[0]);
  return items[0];
}
async function completeInFlow(claim: components["schemas"]["ClaimedJob"]) {
  const { id, lease_token } = claim;
  answered(
    await client.POST("/v1/jobs/{job_id}/complete", {
      params: { path: { job_id: id } },
      body: { lease_token, result },
    }),
  );
}
const first = await claimInFlow();
assert.equal(first.name, "first");
assert.equal(first.flow?.flow_id, created.flow.flow_id);
await completeInFlow(first);
const second = await claimInFlow();
assert.equal(second.name, "second");
assert.deepEqual(second.upstream?.items[0]?.result, result);
await completeInFlow(second);
const flow = { path: { flow_id: created.flow.flow_id }, query: { wait_seconds: 30 } };
const ended = answered(await client.GET("/v1/flows/{flow_id}", { params: flow }));
assert.equal(ended.status, "succeeded");
assert.equal(ended.counts.done, 2);
console.log(`flow ${ended.flow_id} created, run and shown`);
