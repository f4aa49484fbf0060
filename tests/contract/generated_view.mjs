// Writes the part of the API that requests made up by a generator can exercise, as a copy of the
// contract. Left out is what only the service can give (cursors, versions), what two fields rule
// together, and what never ends; the tests of the service cover those.
//
//   node generated_view.mjs openapi.json view.json
import { readFileSync, writeFileSync } from "node:fs";

const [from, to] = process.argv.slice(2);
const api = JSON.parse(readFileSync(from, "utf8"));
const { schemas, parameters } = api.components;

// Without configured tokens the service does not look at one.
delete api.security;
delete api.components.securitySchemes;

delete api.paths["/v1/events/stream"];
// Compared as a whole by scripts/contract.
delete api.paths["/openapi.json"];
// What a trigger may have hangs on its type, and a hook takes any body.
delete api.paths["/v1/triggers/{name}"].put;
delete api.paths["/v1/hooks/{name}"];
// What is a URL, a type of event or a secret is more than a schema says; and others would be called.
delete api.paths["/v1/webhooks"].post;
delete api.paths["/v1/webhooks/{webhook_id}"].patch;
delete schemas.WebhookRotation.properties.secret;
delete api.components.examples.WebhookRotation.value.secret;
delete api.paths["/v1/webhooks/{webhook_id}/test"];
delete api.paths["/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry"];
// Answered only when the body repeats the unique key of a living job.
delete api.paths["/v1/pools/{pool_id}/jobs"].post.responses["200"];
// Likewise only when the names of jobs of the flow are repeated.
delete api.paths["/v1/flows/{flow_id}/jobs"].post.responses["200"];
delete api.paths["/v1/jobs/{job_id}/children"].post.responses["200"];

// What a resource or a key may have hangs on its holder, content is no JSON, and an upload goes on
// where it stands: the other generator sends to these, and the tests of the service.
for (const path of Object.keys(api.paths)) {
  if (/^\/v1\/(resources|scopes|hosts|affinities|jobs\/\{job_id\}\/artifacts)/.test(path)) delete api.paths[path];
}

// There is one node, which has nobody to leave the lead to.
delete api.paths["/v1/cluster/resign"];

const dropped = ["Cursor", "IfMatch", "IdempotencyKey", "LastEvents", "ParentJob", "UnsetSettings", "UpstreamCursor", "TimelineFrom", "TimelineTo"].map((n) => `#/components/parameters/${n}`);
for (const path of Object.values(api.paths)) {
  for (const operation of Object.values(path)) {
    delete operation.security;
    operation.parameters = (operation.parameters ?? []).filter((p) => !dropped.includes(p.$ref));
  }
}

delete schemas.SimulationOrder.properties.from;
delete schemas.SimulationOrder.properties.to;
for (const schema of [schemas.JobSpec, schemas.FlowJobSpec, schemas.CallbackJob]) {
  delete schema.properties.available_at;
  delete schema.properties.expires_at;
  // They say more about a key, which may be left out.
  delete schema.properties.affinity_mode;
  delete schema.properties.pin_wait_seconds;
}
// A worker that must be there, and names of other jobs.
delete schemas.ResourceRef.properties.worker_id;
delete schemas.FlowJobSpec.properties.inputs;
// Jobs with made-up refs would be refused.
delete schemas.PoolSettings.properties.strict_refs;
// The names of other jobs, or the ids of jobs that ended otherwise than done.
for (const edges of ["after", "after_failure", "after_any"]) {
  delete schemas.FlowJobSpec.properties[edges];
  for (const name of ["FlowSpec", "FlowJobSpecBatch", "ChildSpecBatch"]) {
    for (const job of api.components.examples[name].value.jobs) delete job[edges];
  }
}
delete schemas.FlowRetry.properties.jobs;
delete schemas.FlowSpec.properties.deadline_at;
// None only where more will come.
schemas.FlowSpec.required = ["jobs"];
schemas.FlowSpec.properties.jobs.minItems = 1;
// Only a process that the service launched has one.
delete schemas.WorkerSpec.properties.launch_token;
delete schemas.ScalingSettings.properties.min_workers;
delete schemas.ScalingSettings.properties.warm_idle;
// A schedule is more than a text.
delete schemas.ScalingSettings.properties.schedules;
// Which figures there must be, and which may be, hangs on the mode: here it is adaptive.
delete schemas.ExplainScaling.properties.mode;
delete schemas.ExplainConfig.properties.min_workers;
for (const schema of [schemas.ExplainState, schemas.ExplainConfig]) {
  for (const [name, property] of Object.entries(schema.properties)) {
    if (property.description?.startsWith("Queue")) delete schema.properties[name];
  }
}
delete schemas.ExplainConfig.properties.worker_mode;
schemas.ExplainState.required = ["current_workers", "queue_depth", "p95_latency_ms", "in_flight_jobs"];
delete schemas.PoolSettings.properties.stale_threshold_seconds;
// Only the templates of the configuration.
delete schemas.PoolSettings.properties.template;
delete api.components.examples.PoolSettings.value.template;
// Not every status can be asked for everywhere.
schemas.BulkRetry.properties.status.items = { type: "string", enum: ["poisoned", "cancelled"] };
schemas.Purge.properties.status.items = { type: "string", enum: ["done", "poisoned", "cancelled"] };

// What is no object is written out where it is used, so that each use can be changed on its own.
function writtenOut(schema) {
  const named = schema.$ref && schemas[schema.$ref.split("/").pop()];
  return named && named.type && named.type !== "object" ? structuredClone(named) : schema;
}

// A wrong string is made by appending to the pattern, which for these ids makes another good one.
// Their length still tells right from wrong.
function boundIds(schema) {
  if (schema.pattern === undefined) return;
  delete schema.pattern;
  Object.assign(schema, { minLength: 1, maxLength: schema.maxLength ?? 128 });
}
for (const parameter of Object.values(parameters)) {
  parameter.schema = writtenOut(parameter.schema);
  boundIds(parameter.schema);
}

// In requests null stands for absent, and a field that is unknown is refused. Generators of clients
// are better off without the first, and for what answers have too without the second.
const sent = new Set();
function gather(part) {
  for (const [key, value] of Object.entries(part ?? {})) {
    if (key === "$ref" && value.startsWith("#/components/schemas/")) {
      const schema = schemas[value.split("/").pop()];
      if (sent.has(schema)) continue;
      sent.add(schema);
      gather(schema);
    } else if (typeof value === "object") gather(value);
  }
}
for (const path of Object.values(api.paths)) {
  for (const operation of Object.values(path)) gather(operation.requestBody);
}
for (const schema of sent) {
  if (!schema.properties) continue;
  schema.additionalProperties = false;
  for (const [name, named] of Object.entries(schema.properties)) {
    const property = (schema.properties[name] = writtenOut(named));
    boundIds(property);
    if (property.items) boundIds(property.items);
    if (schema.required?.includes(name)) continue;
    if (property.$ref) schemas[property.$ref.split("/").pop()].nullable = true;
    else if (property.type) property.nullable = true;
    if (property.enum) property.enum = [...property.enum, null];
  }
}
writeFileSync(to, JSON.stringify(api, null, 1));
