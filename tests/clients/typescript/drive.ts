// Drives the service through the client that hey-api makes.
import assert from "node:assert/strict";
import { client } from "./muster/client.gen.js";
import { cancelJob, claimJobs, completeJob, getJob, pushJob } from "./muster/index.js";
import type { Completion, Problem } from "./muster/index.js";

client.setConfig({ baseUrl: process.env.MUSTER_URL ?? "", auth: process.env.MUSTER_TOKEN ?? "" });
const throwOnError = true;

const pool = { pool_id: "client-typescript" };
const data = { text: "Zoë 𝄞", list: [1, 0.5, null] };
const push = { path: pool, body: { data, priority: 7 }, headers: { "Idempotency-Key": "once" } };
const { data: pushed } = await pushJob({ ...push, throwOnError });
const { data: again } = await pushJob({ ...push, throwOnError });
assert.equal(again.id, pushed.id);
assert.equal(pushed.status, "pending");
assert.equal(pushed.priority, 7);

const { data: claim } = await claimJobs({ path: pool, body: { worker_id: "ts-1" }, throwOnError });
const [claimed] = claim.items;
assert.ok(claimed);
assert.equal(claim.items.length, 1);
assert.equal(claimed.id, pushed.id);
assert.deepEqual(claimed.data, data);

const job = { job_id: pushed.id };
const result = { pages: 12 };
const completion: Completion = { lease_token: claimed.lease_token, result };
await completeJob({ path: job, body: completion, throwOnError });
const { data: shown } = await getJob({ path: job, throwOnError });
assert.equal(shown.status, "done");
assert.deepEqual(shown.result, result);

// A body that may be left out.
const { data: unwanted } = await pushJob({ path: pool, body: { data }, throwOnError });
const { data: cancelled } = await cancelJob({ path: { job_id: unwanted.id }, throwOnError });
assert.equal(cancelled.status, "cancelled");

const refused = await pushJob({ path: pool, body: { data, max_retries: 1001 } });
assert.equal(refused.response?.status, 422);
const problem: Problem | undefined = refused.error;
assert.equal(problem?.code, "validation_failed");
assert.equal(problem?.errors?.[0]?.pointer, "/max_retries");
console.log("job", pushed.id);
