// Lets the service send events here, and has them verified by the reference library of Standard
// Webhooks: one for each secret while both sign, and none by a stranger's.
//
//   MUSTER_URL=http://… node webhooks.mjs      the service must allow 127.0.0.1 (webhook_allow)
import assert from "node:assert";
import http from "node:http";
import { Webhook } from "standardwebhooks";

const service = process.env.MUSTER_URL;

async function call(path, body) {
  const answer = await fetch(service + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status} ${text}`);
  return JSON.parse(text);
}

const waiting = [];
const received = [];
const receiver = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  response.writeHead(204).end();
  const message = { headers: request.headers, body: Buffer.concat(chunks).toString() };
  if (waiting.length) waiting.shift()(message);
  else received.push(message);
});
const next = () =>
  received.length ? received.shift() : new Promise((resolve) => waiting.push(resolve));

await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const deadline = setTimeout(() => {
  console.error("nothing came in time");
  process.exit(1);
}, 20_000);

const pool = "contract-webhooks";
const webhook = await call("/v1/webhooks", {
  url: `http://127.0.0.1:${receiver.address().port}/hook`,
  types: ["job.created"],
  pool_id: pool,
});
const verify = ({ headers, body }, secret) => new Webhook(secret).verify(body, headers);
const stranger = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const job = await call(`/v1/pools/${pool}/jobs`, { data: "Zoë 𝄞" });
const first = await next();
const event = verify(first, webhook.secret);
assert.equal(event.type, "job.created");
assert.equal(event.data.job_id, job.id);
assert.throws(() => verify(first, stranger));
assert.throws(() => verify({ ...first, body: `${first.body} ` }, webhook.secret));

const rotated = await call(`/v1/webhooks/${webhook.id}/rotate`, { secret: stranger });
const outcome = await call(`/v1/webhooks/${webhook.id}/test`, {});
assert.equal(outcome.delivered, true);
const second = await next();
assert.equal(verify(second, webhook.secret).type, "webhook.test");
assert.equal(verify(second, rotated.secret).type, "webhook.test");

clearTimeout(deadline);
await fetch(`${service}/v1/webhooks/${webhook.id}`, { method: "DELETE" });
receiver.close();
receiver.closeAllConnections();
console.log("verified by standardwebhooks");
