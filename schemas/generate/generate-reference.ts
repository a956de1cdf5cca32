// Writes schemas/REFERENCE.md: every field, variable, endpoint, header, error code and metric, from the places that declare them.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { environmentVariables } from '../environment-variables.ts';
import { controlPlaneMetrics } from '../metrics/control-plane-metrics.ts';
import { type MetricDefinition, mostLabelledRules, rateLimitMetrics } from '../metrics/limit-metrics.ts';
import { proxyMetrics } from '../metrics/proxy-metrics.ts';
import { operations, refusalsOf, rightOfOperation } from '../openapi/document.ts';
import { headers, type Operation, type Refusals } from '../openapi/operation.ts';
import { defaultAddresses, exampleAddresses } from '../provider-addresses.ts';
import { readFieldSections, readUnits } from './reference-fields.ts';

const introduction = `# Reference

Every field of the YAML, every environment variable, endpoint, header, error code and metric. This page is generated from their
declarations by \`npm run generate\`; a test compares the two. Do not edit it.`;

const fieldsIntroduction = `The configuration is every \`*.yaml\` file of a directory and of the directories in it. Entries of \`providers\`, \`aliases\`, \`guardrails\`, \`keys\`, \`budgets\` and \`rate_limits\` may be spread over files; every other key is in one file. An unknown field is a mistake.
\`[]\` means each entry of a list, \`<name>\` a name that you choose.`;

const variablesIntroduction = `Each process reads its variables once, at its start. An empty variable counts as unset. What is wrong with any of them is reported
all at once, and no value is ever shown.`;

const endpointsIntroduction = `A proxy serves all of them; the control plane serves \`/admin\`, \`/health\`, \`/health/ready\` and \`/metrics\` itself too.
\`GET /admin/openapi.json\` describes \`/v1\` and \`/admin\` with their bodies, as an OpenAPI 3.1 document.`;

const errorsIntroduction = `In \`error.code\` of an answer, under \`/admin\` in \`code\`. They are stable and for programs; messages are for people and may
change. A provider's own error keeps the code that the provider gave it.`;

const metricsIntroduction = `In the text format of Prometheus, at \`GET /metrics\` of each process, beside those of the process (\`process_…\`, \`nodejs_…\`).
At most ${mostLabelledRules} rules have series of their own; the decisions of all others are added up under the rule \`other\`. Every label has a bounded
number of values: providers and models are those of the config in force, and what still ends under one that was removed counts as
\`other\`; no user path is ever a label. [Alerts and a dashboard](../examples/observability/README.md) use them.`;

/** Endpoints outside /v1 and /admin. They ask for no key. */
const openEndpoints = [
  ['GET /', 'What answers here: the name of the product, and where its APIs are. Clients probe it, also with HEAD.'],
  ['GET /v1', 'The same.'],
  ['GET /health', 'Liveness: 200 while the process runs.'],
  [
    'GET /health/ready',
    'Readiness of a proxy: `ready`, `degraded` with reasons, or 503 while it starts, drains or is overloaded.',
  ],
  ['GET /metrics', 'Metrics. A proxy with `GATEWAY_METRICS_PORT` serves them on that port alone.'],
] as const;

/** Errors that any request may get, before or after its operation is known. */
const generalRefusals: Refusals = {
  400: ['invalid_path', 'unexpected_body'],
  401: ['key_revoked', 'client_certificate_refused'],
  403: ['foreign_host', 'foreign_origin', 'origin_not_allowed'],
  404: ['route_not_found'],
  405: ['method_not_allowed'],
  417: ['expectation_failed'],
  431: ['headers_too_large'],
  503: ['overloaded', 'store_unavailable'],
};

/** Who may ask: any key, or operators with this role; see docs/roles.md. */
function whoOf(operation: Operation): string {
  const right = rightOfOperation(operation);
  if (right === undefined) return operation.access === 'public' ? 'no key' : 'any key';
  return `role ${right.role}, ${right.reach === 'gateway' ? 'of the whole gateway' : 'for its own user path'}`;
}

/** The whole page as Markdown. */
export function generateReference(): string {
  const fields = readFieldSections().flatMap(({ key, says, rows }) => [
    `### \`${key}\``,
    escaped(says),
    table(
      ['Field', 'Type', 'Default', 'Meaning'],
      rows.map((row) => [`\`${row.path}\``, row.type, row.default, row.says]),
    ),
  ]);
  const units = readUnits().map(
    ({ says, examples }) => `- ${says} ${examples.map((value) => `\`${value}\``).join(', ')}`,
  );
  return `${[
    introduction,
    '## Configuration fields',
    fieldsIntroduction,
    units.join('\n'),
    ...fields,
    '### Types of providers',
    'The base URL of a provider without `base_url`.',
    providerTypesTable(),
    '## Environment variables',
    variablesIntroduction,
    variablesTable(),
    '## Endpoints',
    endpointsIntroduction,
    endpointsTable(),
    '### Headers of answers',
    table(
      ['Header', 'Meaning'],
      Object.entries(headers).map(([name, { description }]) => [`\`${name}\``, description]),
    ),
    '### Error codes',
    errorsIntroduction,
    'Of any request:',
    errorsTable([generalRefusals]),
    'Of `/v1`:',
    errorsTable(operations.filter(({ access }) => access === 'client').map(refusalsOf)),
    'Of `/admin`:',
    errorsTable(operations.filter(({ access }) => access !== 'client').map(refusalsOf)),
    '## Metrics',
    metricsIntroduction,
    '### The proxy',
    metricsTable([...Object.values(proxyMetrics), ...Object.values(rateLimitMetrics)]),
    '### The control plane',
    metricsTable(Object.values(controlPlaneMetrics)),
  ].join('\n\n')}\n`;
}

function providerTypesTable(): string {
  const examples: Readonly<Record<string, string>> = exampleAddresses;
  const addresses = Object.entries(defaultAddresses).map(([type, address]) => {
    return [`\`${type}\``, address === undefined ? `none; for instance \`${examples[type]}\`` : `\`${address}\``];
  });
  return table(['Type', 'Base URL'], addresses);
}

function variablesTable(): string {
  return table(
    ['Variable', 'Read by', 'Default', 'Meaning'],
    environmentVariables.map(({ name, readBy, default: value, says }) => [
      `\`${name}\``,
      readBy,
      value === undefined ? '' : `\`${value}\``,
      says,
    ]),
  );
}

function endpointsTable(): string {
  const described = [...operations].sort((a, b) => Number(b.access === 'client') - Number(a.access === 'client'));
  return table(
    ['Endpoint', 'Who may', 'Meaning'],
    [
      ...described.map((operation) => [
        `\`${operation.method.toUpperCase()} ${operation.path}\``,
        whoOf(operation),
        [operation.summary, operation.description].filter((text) => text !== undefined).join(' '),
      ]),
      ...openEndpoints.map(([endpoint, says]) => [`\`${endpoint}\``, 'no key', says]),
    ],
  );
}

/** Error codes by status, each once. */
function errorsTable(all: readonly Refusals[]): string {
  const codes = new Map<string, Set<string>>();
  for (const [status, given] of all.flatMap((refusals) => Object.entries(refusals))) {
    codes.set(status, new Set([...(codes.get(status) ?? []), ...given]));
  }
  const rows = [...codes].sort(([a], [b]) => Number(a) - Number(b));
  return table(
    ['Status', 'Codes'],
    rows.map(([status, given]) => [status, [...given].map((code) => `\`${code}\``).join(', ')]),
  );
}

function metricsTable(definitions: readonly MetricDefinition[]): string {
  return table(
    ['Metric', 'Type', 'Labels', 'Meaning'],
    definitions.map(({ name, type, labelNames, help }) => [
      `\`${name}\``,
      type,
      labelNames.map((label) => `\`${label}\``).join(', '),
      help,
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`.replaceAll('|  |', '| |');
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Text that may hold code: outside it, what Markdown would take for markup is escaped. */
function escaped(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/[<*]/g, String.raw`\$&`)))
    .join('')
    .replaceAll('|', String.raw`\|`);
}

if (import.meta.main) await writeFile(join(import.meta.dirname, '../REFERENCE.md'), generateReference());
