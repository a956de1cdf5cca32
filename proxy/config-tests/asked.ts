// The question that a test asks: who sends what, and when.
import type { Facts } from '../../domain/conditions/facts.ts';
import type { Identity } from '../../domain/identities/identity.ts';
import { rightsOf } from '../../domain/identities/rights.ts';
import { type AuthKey, authKey } from '../../domain/keys/auth-key.ts';
import { foldUserPath, normaliseUserPath } from '../../domain/user-path.ts';
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { Given } from '../../schemas/types.ts';
import { namingEndpoints } from '../endpoints/naming-endpoints.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Question } from '../explain/question.ts';
import type { CompiledConfig } from './compiled.ts';
import { TestMistake, unknownName } from './test-mistake.ts';

/** A Thursday, in the middle of the day. */
const usualTime = '2026-01-01T12:00:00Z';

export interface Asked {
  readonly question: Question;
  /** Present for claims that get no rights: then nothing else is decided. */
  readonly refused?: Refusal;
}

/** Throws a `TestMistake` for what the configuration does not have. */
export function askedBy(given: Given, compiled: CompiledConfig): Asked {
  const { model, endpoint: path, stream, session, tokens } = given;
  const nowMs = parseMoment(given.time ?? usualTime) ?? 0;
  const { key, refused } = callerOf(given, compiled);
  const userPath = normaliseUserPath(given.user_path ?? '/').path ?? '/';
  const endpoint = path === undefined ? undefined : namingEndpoints.get(path);
  if (path !== undefined && endpoint === undefined)
    throw unknownName(['given', 'endpoint'], 'endpoint', path, [...namingEndpoints.keys()]);
  const { input } = tokens ?? {};
  const question: Question = {
    userPath,
    model,
    stream,
    endpoint,
    thread: session,
    inputTokens: input,
    needed: input === undefined ? undefined : { most: input, fewest: input, answer: 0 },
    key,
    nowMs,
    authorityMs: nowMs,
    scope: '/',
    facts: factsOf(given, { key, userPath: key?.userPath ?? userPath, nowMs }, compiled),
  };
  return { question, ...(refused === undefined ? {} : { refused }) };
}

/** A test says the whole request: what it does not name, the request does not have. */
function factsOf(
  { endpoint, stream, tools = 0, images, tokens, headers = {} }: Given,
  { key, userPath, nowMs }: { readonly key: AuthKey | undefined; readonly userPath: string; readonly nowMs: number },
  { snapshot }: CompiledConfig,
): Facts {
  const { hour, weekday } = snapshot.localTime.at(nowMs);
  const sent = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    path: foldUserPath(userPath),
    labels: key?.labels ?? [],
    endpoint,
    stream,
    tools,
    images,
    tokens: tokens?.input,
    hour,
    weekday,
    header: (name) => sent.get(name) ?? '',
  };
}

function callerOf(
  { key: name, labels, claims, identity }: Given,
  compiled: CompiledConfig,
): { readonly key: AuthKey | undefined; readonly refused?: Refusal } {
  if (claims !== undefined) return callerOfToken(claims, identityOf(claims, identity, compiled));
  if (name !== undefined) {
    const key = compiled.keys.get(name);
    if (key === undefined)
      throw unknownName(['given', 'key'], 'key of the configuration', name, [...compiled.keys.keys()]);
    return { key };
  }
  return {
    key: labels === undefined ? undefined : keyWith({ id: 'test', labels, userPath: undefined, allowedModels: [] }),
  };
}

function identityOf(
  { iss: issuer }: Readonly<Record<string, unknown>>,
  name: string | undefined,
  { identities }: CompiledConfig,
): Identity {
  const names = identities.map((each) => each.name);
  const found =
    name === undefined
      ? identities.filter((each) => issuer === undefined || each.issuer === issuer)
      : identities.filter((each) => each.name === name);
  const [identity, another] = found;
  if (identity === undefined)
    throw unknownName(
      ['given', name === undefined ? 'claims' : 'identity'],
      'identity of the configuration',
      name ?? (typeof issuer === 'string' ? issuer : ''),
      names,
    );
  if (another !== undefined)
    throw new TestMistake(['given', 'claims'], `may belong to ${names.join(' or ')}: name one as given.identity`);
  return identity;
}

function callerOfToken(
  claims: Readonly<Record<string, unknown>>,
  identity: Identity,
): { readonly key: AuthKey | undefined; readonly refused?: Refusal } {
  const { rights, refused } = rightsOf(identity, claims);
  if (rights === undefined)
    return { key: undefined, refused: refusal('invalid_token', { fill: { reason: refused.message } }) };
  return { key: keyWith(rights) };
}

/** A key with these rights, which has no secret. */
function keyWith({
  id,
  labels,
  userPath,
  allowedModels,
}: Pick<AuthKey, 'id' | 'labels' | 'userPath' | 'allowedModels'>): AuthKey {
  return authKey({
    id,
    name: id,
    description: undefined,
    userPath: userPath === '/' ? undefined : userPath,
    anyUserPath: userPath === undefined,
    labels,
    allowedModels,
    role: undefined,
    digest: '',
    redactedValue: '',
    enabled: true,
    expiresAtMs: Number.POSITIVE_INFINITY,
    deactivatedAtMs: undefined,
    createdAtMs: 0,
    updatedAtMs: 0,
    createdBy: 'test',
  });
}
