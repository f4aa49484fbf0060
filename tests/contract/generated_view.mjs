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

// There is one node, which has nobody to leave the lead to.
delete api.paths["/v1/cluster/resign"];

const dropped = ["Cursor", "IfMatch", "IdempotencyKey", "LastEvents", "UnsetSettings", "TimelineFrom", "TimelineTo"].map((n) => `#/components/parameters/${n}`);
for (const path of Object.values(api.paths)) {
  for (const operation of Object.values(path)) {
    delete operation.security;
    operation.parameters = (operation.parameters ?? []).filter((p) => !dropped.includes(p.$ref));
  }
}

delete schemas.SimulationOrder.properties.from;
delete schemas.SimulationOrder.properties.to;
delete schemas.JobSpec.properties.available_at;
delete schemas.JobSpec.properties.expires_at;
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
    if (property.description.startsWith("Queue")) delete schema.properties[name];
  }
}
schemas.ExplainState.required = ["current_workers", "queue_depth", "p95_latency_ms", "in_flight_jobs"];
for (const name of schemas.ExplainState.required) delete schemas.ExplainState.properties[name].nullable;
delete schemas.PoolSettings.properties.stale_threshold_seconds;
// Only the templates of the configuration.
delete schemas.PoolSettings.properties.template;
delete api.components.examples.PoolSettings.value.template;
// A list or a map: too free for a generator.
schemas.Placement.properties.requires_capabilities =
  schemas.Placement.properties.requires_executors;

// A wrong string is made by appending to the pattern, which for these ids makes another good one.
// Their length still tells right from wrong.
function boundIds(schema) {
  if (schema.pattern === undefined) return;
  delete schema.pattern;
  Object.assign(schema, { minLength: 1, maxLength: 128 });
}
for (const parameter of Object.values(parameters)) boundIds(parameter.schema);

// In requests null stands for absent. Generators of clients cannot be told so for enums and
// references, but here it can be said.
for (const schema of Object.values(schemas)) {
  if (schema.additionalProperties !== false) continue;
  for (const [name, property] of Object.entries(schema.properties)) {
    boundIds(property);
    if (property.items) boundIds(property.items);
    if (schema.required?.includes(name)) continue;
    if (property.enum) Object.assign(property, { nullable: true, enum: [...property.enum, null] });
    if (property.$ref) schemas[property.$ref.split("/").pop()].nullable = true;
  }
}
writeFileSync(to, JSON.stringify(api, null, 1));
