// A proxy that sets the stage for generated requests: they name jobs, tokens, workers and pools
// that exist nowhere. Before a request goes to the service, the stage makes what it names, in the
// state it needs, and puts the real name in the place of the invented one. Names that are invalid
// are left as they are, for the service to refuse.
//
//   MUSTER_URL=http://… node stage.mjs      prints `listening on http://…`
import http from "node:http";

const service = process.env.MUSTER_URL;
const agent = new http.Agent({ keepAlive: true });
let made = 0;
const fresh = (kind) => `${kind}-${++made}`;

async function call(method, path, body) {
  const answer = await fetch(service + path, {
    method,
    headers: { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

const stage = {
  async noPool() {
    return { id: fresh("pool") };
  },
  async pool() {
    const pool = fresh("pool");
    await call("PUT", `/v1/pools/${pool}`, {});
    return { id: pool };
  },
  async filledPool() {
    const pool = fresh("pool");
    const job = await call("POST", `/v1/pools/${pool}/jobs`, { data: 1 });
    return { id: pool, job_id: job.id };
  },
  async pendingJob() {
    const job = await call("POST", `/v1/pools/${fresh("pool")}/jobs`, { data: 1 });
    return { id: job.id };
  },
  async claimedJob() {
    const { id: pool } = await stage.filledPool();
    const worker = fresh("worker");
    const [job] = (await call("POST", `/v1/pools/${pool}/claim`, { worker_id: worker })).items;
    return { id: job.id, lease_token: job.lease_token, worker_id: worker };
  },
  async doneJob() {
    const job = await stage.claimedJob();
    const artifacts = [{ name: "summary", value: { pages: 3 } }];
    await call("POST", `/v1/jobs/${job.id}/complete`, { lease_token: job.lease_token, artifacts });
    return { id: job.id };
  },
  async artifact() {
    const job = await stage.doneJob();
    return { id: `${job.id}/artifacts/summary` };
  },
  async cancelledJob() {
    const job = await stage.pendingJob();
    await call("POST", `/v1/jobs/${job.id}/cancel`, {});
    return job;
  },
  async openFlow() {
    const jobs = [{ name: "first", pool_id: fresh("pool"), data: 1 }];
    const { flow } = await call("POST", "/v1/flows", { jobs, open: true });
    return { id: flow.flow_id };
  },
  async cancelledFlow() {
    const { id } = await stage.openFlow();
    await call("POST", `/v1/flows/${id}/cancel`, {});
    await call("GET", `/v1/flows/${id}?wait_seconds=30`);
    return { id };
  },
  async trigger() {
    const trigger = fresh("trigger");
    await call("PUT", `/v1/triggers/${trigger}`, {
      type: "webhook",
      machine: "parallelization_checker",
    });
    return { id: trigger };
  },
  // One for all, since there can be a hundred.
  async webhook() {
    stage.only ??= await stage.newWebhook();
    return stage.only;
  },
  async newWebhook() {
    const webhook = await call("POST", "/v1/webhooks", { url: "https://hooks.example.org/" });
    return { id: webhook.id };
  },
  async worker() {
    const worker = fresh("worker");
    await call("POST", "/v1/workers", { worker_id: worker });
    return { id: worker };
  },
  async endedWorker() {
    const worker = await stage.worker();
    await call("PATCH", `/v1/workers/${worker.id}`, { status: "terminated" });
    return worker;
  },
};

// Method and path → what must be there, which fields of the body name it, and for which of several
// good answers (the generator says in a header which one it is after).
const scenes = [
  [/^PUT \/v1\/pools\/([^/]+)$/, "pool", [], "200"],
  [/^PUT \/v1\/pools\/([^/]+)$/, "noPool", [], "201"],
  [/^(?:GET|PATCH|DELETE) \/v1\/pools\/([^/]+)$/, "pool", []],
  [/^POST \/v1\/pools\/([^/]+)\/(?:pause|resume|retry|purge)$/, "pool", []],
  [/^(?:GET|POST|PUT) \/v1\/pools\/([^/]+)\/(?:check|scale|simulate|timeline)$/, "pool", []],
  [/^POST \/v1\/pools\/([^/]+)\/claim$/, "filledPool", ["job_id"]],
  [/^POST \/v1\/pools\/([^/]+)\/reports$/, "filledPool", []],
  [/^GET \/v1\/jobs\/([^/]+)(?:\/attempts|\/upstream|\/artifacts)?$/, "doneJob", []],
  [/^GET \/v1\/jobs\/([^/]+\/artifacts\/[^/]+)$/, "artifact", []],
  [/^DELETE \/v1\/jobs\/([^/]+)$/, "pendingJob", []],
  [
    /^POST \/v1\/jobs\/([^/]+)\/(?:complete|fail|renew|release|progress)$/,
    "claimedJob",
    ["lease_token", "worker_id"],
  ],
  [/^POST \/v1\/jobs\/([^/]+)\/children$/, "claimedJob", ["lease_token"]],
  [/^GET \/v1\/flows\/([^/]+)$/, "cancelledFlow", []],
  [/^GET \/v1\/flows\/([^/]+)\/(?:jobs|edges)$/, "openFlow", []],
  [/^POST \/v1\/flows\/([^/]+)\/(?:jobs|close|cancel)$/, "openFlow", []],
  [/^POST \/v1\/flows\/([^/]+)\/retry$/, "cancelledFlow", []],
  [/^DELETE \/v1\/flows\/([^/]+)$/, "cancelledFlow", []],
  [/^POST \/v1\/jobs\/([^/]+)\/cancel$/, "pendingJob", []],
  [/^POST \/v1\/jobs\/([^/]+)\/retry$/, "cancelledJob", []],
  [/^(?:GET|PATCH) \/v1\/workers\/([^/]+)(?:\/output)?$/, "worker", []],
  [/^POST \/v1\/workers\/([^/]+)\/(?:heartbeat|release|terminate)$/, "worker", []],
  [/^DELETE \/v1\/workers\/([^/]+)$/, "endedWorker", []],
  [/^(?:GET|DELETE) \/v1\/triggers\/([^/]+)$/, "trigger", []],
  [/^POST \/v1\/triggers\/([^/]+)\/fire$/, "trigger", []],
  [/^GET \/v1\/webhooks\/([^/]+)(?:\/deliveries)?$/, "webhook", []],
  [/^POST \/v1\/webhooks\/([^/]+)\/rotate$/, "webhook", []],
  [/^DELETE \/v1\/webhooks\/([^/]+)$/, "newWebhook", []],
];
const longest = { job_id: 128, worker_id: 128, lease_token: 128 };

function recast(body, fields, actor) {
  let json;
  try {
    json = JSON.parse(body);
  } catch {
    return body;
  }
  if (json === null || typeof json !== "object") return body;
  for (const field of fields) {
    const invented = json[field];
    if (typeof invented !== "string" || !invented || invented.length > longest[field]) continue;
    json[field] = actor[field];
  }
  return JSON.stringify(json);
}

// Names of jobs and artifacts are unique in their list, and no two living jobs have one unique_key,
// which no schema can say. As text, since large numbers would not survive being parsed.
let keys = 0;
function withDistinctNames(body, path) {
  const seen = new Set();
  const isOfFlow = /^\/v1\/flows|\/children$/.test(path);
  const keyed = isOfFlow
    ? body.replace(/("unique_key"\s*:\s*")([^"\\]+)"/g, (whole, key, name) =>
        `${key}${`${++keys}-${name}`.slice(0, 256)}"`)
    : body;
  return keyed.replace(/("name"\s*:\s*")([^"\\]+)"/g, (whole, key, name) => {
    const distinct = seen.has(name) ? `${seen.size}${name}`.slice(0, 128) : name;
    seen.add(distinct);
    return `${key}${distinct}"`;
  });
}

async function setScene(request, given) {
  const isGood = /^2/.test(request.headers["specmatic-response-code"] ?? "");
  const body = isGood ? withDistinctNames(given, request.url.split("?")[0]) : given;
  const [path, query] = request.url.split("?", 2);
  const unchanged = { path: request.url, body };
  for (const [pattern, actorKind, fields, onlyFor] of scenes) {
    const found = pattern.exec(`${request.method} ${path}`);
    if (!found) continue;
    const [id, , name = ""] = found[1].split("/").map(decodeURIComponent);
    if (id.length > 128 || name.length > 256) continue;
    if (onlyFor && request.headers["specmatic-response-code"] !== onlyFor) continue;
    const actor = await stage[actorKind]();
    const target = path.replace(`/${found[1]}`, `/${actor.id}`) + (query ? `?${query}` : "");
    return { path: target, body: fields.length ? recast(body, fields, actor) : body };
  }
  return unchanged;
}

function forward(request, { path, body }, response) {
  const headers = { ...request.headers, host: new URL(service).host };
  delete headers["transfer-encoding"];
  delete headers["specmatic-response-code"];
  if (body.length) headers["content-length"] = Buffer.byteLength(body);
  const onward = http.request(
    service + path,
    { method: request.method, headers, agent },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on("error", (error) => response.destroy(error));
  onward.end(body);
}

const server = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    forward(request, await setScene(request, Buffer.concat(chunks).toString()), response);
  } catch (error) {
    response.writeHead(599, { "content-type": "text/plain" });
    response.end(`the stage could not be set: ${error.message}`);
  }
});
server.listen(0, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
