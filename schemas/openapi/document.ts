// Builds the API description, an OpenAPI 3.1 document, from the tables of operations and the JSON Schemas of the bodies.
import { type Right, rightOf } from '../admin-rights.ts';
import { sessionCookie } from '../session-cookie.ts';
import { adminOperations } from './admin-operations.ts';
import { anthropicLimitHeaders } from './anthropic-headers.ts';
import type { SchemaName } from './body-schemas.ts';
import { referenceTo, schemaComponents } from './components.ts';
import { exampleOf } from './example-of.ts';
import { modelOperations } from './model-operations.ts';
import { type HeaderName, headers, limitHeaders, type Operation, parameters, type Refusals } from './operation.ts';
import { passthroughOperations } from './passthrough-operations.ts';
import { storeOperations } from './store-operations.ts';
import { streamExamples } from './stream-examples.ts';

/** The version of the programmatic interface (spec, Versioning 1). */
const version = '1.0';

/** The credentials of an operation: one of these. */
const securityOf: Readonly<Record<Operation['access'], readonly object[]>> = {
  client: [{ bearer: [] }, { apiKey: [] }, { azureApiKey: [] }, { googleApiKey: [] }, { gatewayKey: [] }],
  operator: [{ bearer: [] }, { session: [] }],
  public: [],
};
const refusalsOfPublic: Refusals = {
  400: ['malformed_request'],
  403: ['csrf_refused'],
  500: ['internal_error'],
  503: ['control_plane_unavailable'],
};
const refusalsOfSessions: Refusals = { 403: ['csrf_refused'] };
const refusalsOfAdmin: Refusals = {
  400: ['malformed_request', 'ambiguous_credentials', 'secret_in_request'],
  401: ['invalid_api_key', 'invalid_token', 'session_ended'],
  403: ['dashboard_access_denied', 'role_denied'],
  429: ['too_many_failed_logins'],
  500: ['internal_error'],
  503: ['control_plane_unavailable'],
};
const refusalsOfAdminBody: Refusals = {
  400: ['invalid_json', 'invalid_member', 'body_too_deep', 'body_too_many_values'],
  413: ['body_too_large'],
  415: ['unsupported_media_type'],
};
const refusalsOfClients: Refusals = {
  400: ['malformed_request', 'invalid_header', 'ambiguous_credentials', 'invalid_user_path'],
  401: ['invalid_api_key', 'invalid_token', 'client_credential_missing'],
  403: ['user_path_denied'],
  500: ['internal_error'],
  503: ['identity_unavailable'],
};

/** JSON, an event stream, or bytes of any kind. */
const anything = { '*/*': { schema: {} } };

/** Statuses whose answers may have Retry-After. */
const retryable = new Set([429, 503]);

/** Whose clients read the headers of an answer. */
type Surface = NonNullable<Operation['surface']> | 'openai';

/** The headers that every answer has. */
const everyHeader: Readonly<Record<Surface, readonly HeaderName[]>> = {
  openai: ['x-request-id'],
  anthropic: ['x-request-id', 'request-id'],
};

/** Every operation, those of the control plane first. */
export const operations: readonly Operation[] = [
  ...adminOperations,
  ...modelOperations,
  ...storeOperations,
  ...passthroughOperations,
];

/** All error codes of an operation by status: its own, and those of all operations with the same access. */
export function refusalsOf(operation: Operation): Refusals {
  const { access, method, body, refusals = {} } = operation;
  if (access === 'client') return united([refusalsOfClients, refusals]);
  const body400 = body === undefined ? {} : refusalsOfAdminBody;
  if (access === 'public') return united([refusalsOfPublic, body400, refusals]);
  const scope: Refusals = rightOfOperation(operation)?.reach === 'gateway' ? { 403: ['admin_scope_denied'] } : {};
  const written = method === 'get' ? {} : refusalsOfSessions;
  return united([refusalsOfAdmin, scope, written, body400, refusals]);
}

/** The right that an operation needs; undefined: it is none of operators. */
export function rightOfOperation({ access, method, path }: Operation): Right | undefined {
  if (access !== 'operator') return undefined;
  // Models may have slashes, so one route stands for both paths of a drain.
  const url = path.replace(/targets\/.*\/drain$/, 'targets/*').replace(/\{(\w+)\}/g, ':$1');
  const right = rightOf(method.toUpperCase(), url);
  if (right === undefined) throw new Error(`${method} ${path} has no row in schemas/admin-rights.ts`);
  return right;
}

/** The whole document. */
export function describeApi(): object {
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Model gateway',
      version,
      description:
        'The model API (/v1) speaks the wire formats of OpenAI and Anthropic. /p passes requests on to a provider as they are. The admin API (/admin) changes rate limits and keys while the gateway runs.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'Any proxy; the control plane serves /admin itself too.' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: describePaths(),
    components: {
      schemas: schemaComponents(),
      parameters,
      headers,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'The master key or a managed key.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same, for the model API only.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookie,
          description: 'Of a browser; see /admin/session.',
        },
        azureApiKey: { type: 'apiKey', in: 'header', name: 'api-key', description: 'The same as x-api-key.' },
        googleApiKey: { type: 'apiKey', in: 'header', name: 'x-goog-api-key', description: 'The same as x-api-key.' },
        gatewayKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Gateway-Key',
          description: 'The same, where Authorization and x-api-key are for a provider with `auth: client`.',
        },
      },
    },
  };
}

function describePaths(): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const { path, method } = operation;
    paths[path] = { ...paths[path], [method]: describeOperation(operation) };
  }
  return paths;
}

function describeOperation(operation: Operation): object {
  const { id, tag, summary, description, access, surface = 'openai', body, success, isOpaque = false } = operation;
  const error = access === 'client' ? 'model-error' : 'admin-error';
  const refusals = Object.entries(refusalsOf(operation)).map(([status, codes]) => [
    status,
    describeRefusal(error, Number(status), codes, surface),
  ]);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...describeRight(operation, description),
    security: securityOf[access],
    parameters: (operation.parameters ?? []).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(body) } }),
    ...(isOpaque ? { requestBody: { content: anything } } : {}),
    responses: {
      [success.status]: describeSuccess(success, surface),
      ...(isOpaque ? describeOpaque(success) : {}),
      ...Object.fromEntries(refusals),
      default: describeAnswer(
        access === 'client' ? 'Any other error, including errors of the provider.' : 'Any other error.',
        json(error),
        everyHeader[surface],
      ),
    },
  };
}

/** The description, with the right that it needs. */
function describeRight(operation: Operation, description: string | undefined): object {
  const right = rightOfOperation(operation);
  if (right === undefined) return description === undefined ? {} : { description };
  const { role, reach } = right;
  const needed = `Needs the role \`${role}\`${reach === 'gateway' ? ' for the whole gateway' : ''}.`;
  return { description: [description, needed].filter((each) => each !== undefined).join(' ') };
}

function describeSuccess(
  { says, schema, stream, texts = {}, headers: named = [] }: Operation['success'],
  surface: Surface,
): object {
  const written = { ...(stream && { 'text/event-stream': streamExamples[stream] }), ...texts };
  const content = {
    ...(schema === undefined ? {} : json(schema)),
    ...Object.fromEntries(
      Object.entries(written).map(([type, example]) => [type, { schema: { type: 'string' }, example }]),
    ),
  };
  const limited = surface === 'anthropic' && named.includes('RateLimit') ? anthropicLimitHeaders : [];
  return describeAnswer(says, Object.keys(content).length === 0 ? undefined : content, [
    ...everyHeader[surface],
    ...named,
    ...limited,
  ]);
}

/** Any successful answer of a provider. */
function describeOpaque({ says, headers: named = [] }: Operation['success']): object {
  const statuses = [200, 201, 202, 204];
  const describe = (status: number): object =>
    describeAnswer(says, status === 204 ? undefined : anything, ['x-request-id', ...named]);
  return Object.fromEntries(statuses.map((status) => [status, describe(status)]));
}

function describeRefusal(error: SchemaName, status: number, codes: readonly string[], surface: Surface): object {
  const isLimited = codes.includes('rate_limit_exceeded');
  const named: HeaderName[] = [
    ...everyHeader[surface],
    ...(retryable.has(status) ? (['Retry-After'] as const) : []),
    ...(isLimited || codes.includes('too_many_failed_logins') ? (['x-should-retry'] as const) : []),
    ...(isLimited ? (['x-gateway-rule', ...limitHeaders] as const) : []),
    ...(isLimited && surface === 'anthropic' ? anthropicLimitHeaders : []),
  ];
  return describeAnswer(codes.map((code) => `\`${code}\``).join(', '), json(error), named);
}

function describeAnswer(description: string, content: object | undefined, named: readonly HeaderName[]): object {
  const described = named.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return {
    description,
    headers: Object.fromEntries(described) as object,
    ...(content === undefined ? {} : { content }),
  };
}

function json(schema: SchemaName): object {
  return { 'application/json': { schema: referenceTo(schema), example: exampleOf(schema) } };
}

function united(all: readonly Refusals[]): Refusals {
  const together: Record<number, readonly string[]> = {};
  for (const [status, codes] of all.flatMap((refusals) => Object.entries(refusals))) {
    together[Number(status)] = [...new Set([...(together[Number(status)] ?? []), ...codes])];
  }
  return together;
}
