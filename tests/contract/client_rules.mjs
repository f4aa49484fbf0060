// Rules for `redocly lint` that keep openapi.yaml fit for generators of clients, beyond what
// redocly.yaml can say. Each was broken once, and a generator stumbled over it.

const METHODS = ["get", "put", "post", "delete", "patch", "options", "head", "trace"];
const nameOf = (ref) => ref.split("/").pop();

function operationsOf(api) {
  return Object.values(api.paths).flatMap((path) =>
    METHODS.filter((method) => path[method]).map((method) => [method, path[method]]),
  );
}

// Calls `visit` with every object below `part`.
function walk(part, visit) {
  if (part === null || typeof part !== "object") return;
  visit(part);
  for (const [key, value] of Object.entries(part)) {
    if (!["example", "examples", "value"].includes(key)) walk(value, visit);
  }
}

// The names of the schemas that `part` leads to.
function schemasIn(api, part, found = new Set()) {
  walk(part, ({ $ref }) => {
    if (typeof $ref !== "string") return;
    const target = $ref.slice(2).split("/").reduce((at, key) => at[key], api);
    if ($ref.startsWith("#/components/schemas/")) {
      if (found.has(nameOf($ref))) return;
      found.add(nameOf($ref));
    }
    schemasIn(api, target, found);
  });
  return found;
}

// Gives a message for each fault in the whole document.
const rules = {
  // A client must not choke on a field or a status that a newer service answers.
  "answers-are-open": (api) => {
    const answers = operationsOf(api).map(([, operation]) => operation.responses);
    return [...schemasIn(api, answers)].flatMap((name) => {
      const faults = [];
      walk(api.components.schemas[name], (schema) => {
        if (schema.additionalProperties === false) faults.push(`${name} is in answers, but closed`);
        if (schema.enum) faults.push(`${name} is in answers, but has an enum`);
      });
      return faults;
    });
  },
  // Else every use becomes a type of its own.
  "repetition-is-named": (api) => {
    const seen = new Map();
    walk(api, ({ enum: choices, pattern }) => {
      for (const rule of [choices && [...choices].sort().join(" | "), pattern]) {
        if (typeof rule === "string") seen.set(rule, (seen.get(rule) ?? 0) + 1);
      }
    });
    const repeated = [...seen].filter(([, uses]) => uses > 1);
    return repeated.map(([rule]) => `a schema of its own is needed for ${rule}`);
  },
  // NewJob is what Go calls the constructor of Job; C# has no member named like its class.
  "schema-names": (api) =>
    Object.entries(api.components.schemas).flatMap(([name, schema]) => {
      const faults = [];
      if (/^New[A-Z]/.test(name)) faults.push(`${name} should be called …Spec`);
      if (api.components.parameters[name]) faults.push(`${name} is a parameter too`);
      const fields = Object.keys(schema.properties ?? {}).map((field) => field.replaceAll("_", ""));
      if (fields.includes(name.toLowerCase())) faults.push(`${name} has a field of its own name`);
      return faults;
    }),
  "operations-are-plain": (api) =>
    operationsOf(api).flatMap(([method, { operationId, responses }]) => {
      const faults = Object.keys(responses)
        .filter((status) => !/^[2-5][0-9][0-9]$/.test(status))
        .map((status) => `${operationId} answers '${status}', which is no status`);
      if (["options", "head", "trace"].includes(method)) faults.push(`${operationId} is ${method}`);
      return faults;
    }),
  // What belongs to the caller comes through a Go client as it was.
  "raw-json-in-go": (api) =>
    Object.entries(api.components.schemas).flatMap(([name, schema]) =>
      ["data", "result"]
        .filter((field) => schema.properties?.[field] && !schema.properties[field]["x-go-type"])
        .map((field) => `${name}.${field} has no x-go-type`),
    ),
};

const asVisitor = (rule) => () => ({
  Root(api, { report, location }) {
    for (const message of rule(api)) report({ message, location });
  },
});

export default function clientRules() {
  const visitors = Object.entries(rules).map(([name, rule]) => [name, asVisitor(rule)]);
  return { id: "clients", rules: { oas3: Object.fromEntries(visitors) } };
}
