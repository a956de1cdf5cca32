// The data of one operation, from which its description and its reference are generated.
import { anthropicHeaders } from './anthropic-headers.ts';
import type { SchemaName } from './body-schemas.ts';
import { budgetParameters } from './budget-parameters.ts';
import { cacheParameters } from './cache-parameters.ts';
import { explainParameters } from './explain-parameters.ts';
import { modelParameters } from './model-parameters.ts';
import { recordParameters } from './record-parameters.ts';
import { ruleParameters } from './rule-parameters.ts';
import type { StreamName } from './stream-examples.ts';

export interface Operation {
  /** Its name in generated clients. */
  readonly id: string;
  readonly method: 'delete' | 'get' | 'head' | 'options' | 'patch' | 'post' | 'put';
  /** With parameters in braces: `/admin/auth-keys/{id}`. */
  readonly path: string;
  readonly tag: string;
  /** One line. */
  readonly summary: string;
  /** Details that the summary leaves out. */
  readonly description?: string;
  /**
   * `client`: any key. `operator`: the master key, or a key with dashboard access that has the right of the route (`adminRights`). `public`: no
   * key is needed.
   */
  readonly access: 'client' | 'operator' | 'public';
  readonly parameters?: readonly ParameterName[];
  /** `anthropic`: its answers have the headers that clients of Anthropic read, besides ours. */
  readonly surface?: 'anthropic';
  readonly body?: SchemaName;
  /** Its bodies are what a provider makes of them. */
  readonly isOpaque?: boolean;
  readonly success: Success;
  /** Error codes by status, without those that all operations with this access have. */
  readonly refusals?: Refusals;
}

export interface Success {
  readonly status: 101 | 200 | 201 | 204 | 303;
  readonly says: string;
  /** Absent: no body. */
  readonly schema?: SchemaName;
  /** The answer may be an event stream, in this dialect. */
  readonly stream?: StreamName;
  /** The answer may be a text of another media type; an example of each. */
  readonly texts?: Readonly<Record<string, string>>;
  readonly headers?: readonly HeaderName[];
}

/** Error codes by status. */
export type Refusals = Readonly<Record<number, readonly string[]>>;

/** Parameters by their component name. */
export const parameters = {
  KeyId: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the key; it is not secret.',
    schema: { type: 'string' },
    example: '3b241101-e2bb-4255-8caf-4136c566a962',
  },
  Hashes: {
    name: 'hashes',
    in: 'query',
    description: '`true`: each key with its hash, to declare it in the configuration. For admins of the whole gateway.',
    schema: { enum: ['true', 'false'] },
    example: 'true',
  },
  SignInIdentity: {
    name: 'identity',
    in: 'path',
    required: true,
    description: 'The name of the identity in the configuration.',
    schema: { type: 'string' },
    example: 'company',
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The ETag of a listing: the change is made only if what it lists has not changed since.',
    schema: { type: 'string' },
    example: '"42"',
  },
  TargetProvider: {
    name: 'provider',
    in: 'path',
    required: true,
    description: 'The name of a provider of the configuration, in any letter case.',
    schema: { type: 'string', minLength: 1 },
    example: 'openai',
  },
  TargetModel: {
    name: 'model',
    in: 'path',
    required: true,
    description: 'The id of the model there, in any letter case; slashes in it may stand as they are.',
    schema: { type: 'string', minLength: 1, maxLength: 1024 },
    example: 'gpt-4o',
  },
  StateRevision: {
    name: 'revision',
    in: 'query',
    description: 'The x-gateway-state-revision of the write; absent: the latest one that this control plane knows.',
    schema: { type: 'integer', minimum: 0 },
    example: 42,
  },
  ConfigLists: {
    name: 'lists',
    in: 'query',
    description:
      'The lists of the answer, with commas between: providers, aliases, rate_limits, budgets. Absent: all of them.',
    schema: { type: 'string', pattern: '^[a-z_, ]+$' },
    example: 'providers,aliases',
  },
  OverrideKinds: {
    name: 'kinds',
    in: 'query',
    description: 'Only these kinds, with commas between; absent: all.',
    schema: { type: 'string', pattern: '^[a-z_, ]+$' },
    example: 'rule,budget',
  },
  OverrideKind: {
    name: 'kind',
    in: 'query',
    description: 'Only this kind; absent: all.',
    schema: { enum: ['rule', 'budget', 'budget_windows', 'alias', 'guardrail', 'key', 'drain', 'pin'] },
    example: 'rule',
  },
  OverrideId: {
    name: 'id',
    in: 'query',
    description: 'Of this kind, the one with this id, as /admin/config/drift names it; absent: all.',
    schema: { type: 'string' },
    example: 'user_path 60 /team-a',
  },
  ConfigRevision: {
    in: 'path',
    name: 'id',
    required: true,
    description: 'A revision, as the list of revisions names it.',
    schema: { type: 'string', minLength: 1 },
    example: '9f86d081884c',
  },
  ConfigRevisionFile: {
    in: 'query',
    name: 'file',
    description: 'The file whose text is wanted, as `files` names it.',
    schema: { type: 'string', minLength: 1 },
    example: 'limits.yaml',
  },
  ConfigRevisionAgainst: {
    in: 'query',
    name: 'against',
    description: 'The revision that it is compared with; default: the one that was in force before it.',
    schema: { type: 'string', minLength: 1 },
    example: '5b0c8e21d7f3',
  },
  ConfigFile: {
    name: 'file',
    in: 'query',
    description: 'The file whose text is wanted, by its path within the directory.',
    schema: { type: 'string' },
    example: 'limits.yaml',
  },
  NamesOf: {
    name: 'of',
    in: 'query',
    required: true,
    description: 'What the names are of.',
    schema: { enum: ['models', 'providers', 'user_paths', 'labels', 'keys', 'rules'] },
    example: 'models',
  },
  NamesSearch: {
    name: 'search',
    in: 'query',
    description: 'A part of the name, in any letter case; absent: any.',
    schema: { type: 'string' },
    example: 'gpt',
  },
  UserPath: {
    name: 'X-Gateway-User-Path',
    in: 'header',
    description:
      'The user path of the request, such as /team/app; / without it. It is ignored for a key with a user path. server.user_path_header sets the name of this header.',
    schema: { type: 'string' },
    example: '/team/app',
  },
  ...budgetParameters,
  ...cacheParameters,
  ...modelParameters,
  ...explainParameters,
  ...recordParameters,
  ...ruleParameters,
} as const;

export type ParameterName = keyof typeof parameters;

const count = { type: 'integer', minimum: 0 } as const;
const seconds = { type: 'integer', minimum: 1 } as const;
const trio = (what: string) => ({
  limit: { description: `Cap on ${what} of the limit with the least left.`, schema: count },
  remaining: { description: 'What is left of the cap; for requests, after this one.', schema: count },
  reset: {
    description: 'Seconds until its window ends; with nothing left, until a request is admitted again.',
    schema: seconds,
  },
});
const [requests, tokens] = [trio('requests'), trio('tokens')];

/** Headers of answers by name. */
export const headers = {
  ETag: { description: 'The version of what the answer lists, for If-Match.', schema: { type: 'string' } },
  'Set-Cookie': {
    description:
      'The session of the browser (HttpOnly, SameSite=Strict), or its end; while it signs in at an identity provider, what the answer is checked with.',
    schema: { type: 'string' },
  },
  'x-gateway-sign-out': {
    description: 'The page of the identity provider where the browser signs out there, too; absent: there is none.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds until a retry would be admitted.', schema: seconds },
  'x-gateway-state-revision': {
    description: 'The revision of the state store after the write, as in `/admin/status`.',
    schema: count,
  },
  'x-gateway-enforced': {
    description:
      '`true`: the proxy that passed the write on enforces it. `false`: it did not within a second, so read `/admin/status`. Absent in an answer of the control plane itself.',
    schema: { enum: ['true', 'false'] },
  },
  'x-gateway-stale': {
    description:
      '`true` while the store does not answer: what is shown is in force in this control plane. Absent otherwise.',
    schema: { const: 'true' },
  },
  'x-gateway-truncated': {
    description:
      '`true` when there are more rows than the answer has: 10,000 in JSON, 100,000 in CSV. Absent otherwise.',
    schema: { const: 'true' },
  },
  'x-gateway-explain-id': {
    description:
      'In each answer to a request with `X-Gateway-Explain: 1` and the master key, or a key of the role operator for the whole gateway: read `/admin/explain/{id}` within ten minutes.',
    schema: { type: 'string' },
  },
  'x-gateway-rule': {
    description:
      'The rule that refuses: its name, else its id in the listing of /admin/rate-limits; or the id of the budget in that of /admin/budgets.',
    schema: { type: 'string' },
  },
  'x-request-id': {
    description: 'The id of the request in logs; the one that you sent, if any.',
    schema: { type: 'string' },
  },
  'x-upstream-request-id': {
    description: "The provider's own id of the request, for its support.",
    schema: { type: 'string' },
  },
  'x-gateway-dropped': {
    description:
      'The members of the request that were left out, because the provider that answers has nothing like them. Absent: none was.',
    schema: { type: 'string' },
  },
  'x-gateway-cache': {
    description: 'What the cache was to the request; `bypass`: it was not asked. Absent where it is off.',
    schema: { enum: ['hit', 'miss', 'bypass'] },
  },
  age: { description: 'Of an answer from the cache: seconds since it was made.', schema: count },
  'x-gateway-incomplete': {
    description: 'The providers of which something may be missing: they failed, or have more than is looked through.',
    schema: { type: 'string' },
  },
  'x-should-retry': {
    description: '`false` when Retry-After is longer than a client should sleep.',
    schema: { const: 'false' },
  },
  'RateLimit-Policy': {
    description:
      'With `server.ratelimit_headers: [ietf]`: the limits on requests and tokens with the least left. `q` is the cap, `qu` its unit where that is not requests, `w` the window in seconds, `pk` the user path.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'The same limits as they stand: `r` is what is left, `t` the seconds until the window ends or a request is admitted again.',
    schema: { type: 'string' },
  },
  'x-ratelimit-limit-requests': requests.limit,
  'x-ratelimit-remaining-requests': requests.remaining,
  'x-ratelimit-reset-requests': requests.reset,
  'x-ratelimit-limit-tokens': tokens.limit,
  'x-ratelimit-remaining-tokens': tokens.remaining,
  'x-ratelimit-reset-tokens': tokens.reset,
  ...anthropicHeaders,
} as const;

export type HeaderName = keyof typeof headers;

/** The headers of an answer to a write of an operator. */
export const writeHeaders = ['x-gateway-state-revision', 'x-gateway-enforced'] as const satisfies readonly HeaderName[];

/** The headers of an answer on a limited path (spec, Response headers); a dimension without a limit has none. */
export const limitHeaders = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
  'RateLimit-Policy',
  'RateLimit',
] as const satisfies readonly HeaderName[];

/** The headers of a provider's answer on a limited path. */
export const answerHeaders = [
  'x-upstream-request-id',
  'x-gateway-dropped',
  'x-gateway-explain-id',
  'x-gateway-cache',
  'age',
  ...limitHeaders,
] as const satisfies readonly HeaderName[];

/** The codes of a write that the state store does not take. */
export const storedRefusals: readonly string[] = [
  'store_unavailable',
  'store_full',
  'store_evicts',
  'store_read_only',
  'store_unreplicated',
];
