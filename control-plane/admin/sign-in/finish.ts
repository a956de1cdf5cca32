// Finishes a sign-in: from the address that the provider sent the browser to, to the cookie of a session. Every failure is a refusal for the
// login page, and a line in the log.

import type { IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { Claims } from '../../../domain/conditions/claim-path.ts';
import { personDigest, personId } from '../../../domain/keys/person.ts';
import { sealSession } from '../../../domain/keys/session.ts';
import { type AccessParts, addressOf, failSignIn } from '../../authenticate.ts';
import { Refusal, refusal } from '../../errors.ts';
import { type BegunSignIn, readSignIn } from './begun.ts';
import type { Provider } from './provider.ts';
import type { Providers } from './providers.ts';
import type { SignIn, SignIns } from './settings.ts';

export type SignInLog = Record<'info' | 'warn', (facts: object, text: string) => void>;

export interface SignInParts {
  readonly access: AccessParts;
  /** Those of the configuration in force. */
  readonly signIns: () => SignIns;
  readonly providers: Providers;
  readonly log: SignInLog;
}

/** Codes that are exchanged at a time: each waits for a provider. */
const mostExchanges = 32;
/** How long one may take in all; a proxy waits for 10 s. Milliseconds. */
const longestExchangeMs = 8_000;
/** Of a sealed session: browsers keep cookies of at most 4,096 bytes with their attributes. Characters. */
const longestSession = 3_600;

let exchanges = 0;

/** The path that a provider sends the browser back to: another one for each, so that no provider can finish what was begun with another. */
export function callbackPath(identity: string): string {
  return `/admin/sign-in/${encodeURIComponent(identity)}/callback`;
}

/** The provider of an identity. Throws 503 `sign_in_unavailable`. */
export async function connect(
  signIn: SignIn,
  { log, providers }: Pick<SignInParts, 'log' | 'providers'>,
): Promise<Provider> {
  try {
    return await providers(signIn.name, await signIn.provider());
  } catch (error) {
    const { providerFailure } = await import('./provider.ts');
    const { reason } = providerFailure(error);
    log.warn({ identity: signIn.name, reason }, 'an identity provider cannot be used');
    throw refusal('sign_in_unavailable', { fill: { title: signIn.title, reason } });
  }
}

/** A browser that comes back from its provider. */
export interface Returning {
  readonly request: IncomingMessage;
  readonly signIn: SignIn | undefined;
  readonly masterKey: string;
  readonly parts: SignInParts;
}

/** The cookie of the session, and the page to show. Throws the refusal. */
export async function finishSignIn({
  request,
  signIn,
  masterKey,
  parts,
}: Returning): Promise<{ readonly cookie: string; readonly page: string }> {
  const kept = readSignIn(request.headers.cookie, masterKey, parts.access.nowMs());
  const begun = kept !== undefined && 'begun' in kept ? kept.begun : undefined;
  if (signIn === undefined || begun?.identity !== signIn.name) throw refusal('sign_in_not_begun');
  if (exchanges >= mostExchanges) throw refusal('too_many_sign_ins');
  exchanges += 1;
  const claims = await exchange(request, { signIn, begun }, parts).finally(() => {
    exchanges -= 1;
  });
  return { cookie: sessionOf(signIn, claims, { request, masterKey, parts }), page: begun.page };
}

/** The claims of who has signed in. What the provider should not have answered counts as a failed login of this address. */
async function exchange(
  request: IncomingMessage,
  { signIn, begun }: { readonly signIn: SignIn; readonly begun: BegunSignIn },
  parts: SignInParts,
): Promise<Claims> {
  const url = request.url ?? '';
  const callback = new URL(signIn.publicUrl + callbackPath(signIn.name));
  callback.search = url.slice(url.indexOf('?') + 1);
  const over = new AbortController();
  const late = setTimeout(longestExchangeMs, undefined, { signal: over.signal }).then(() => {
    throw new DOMException('too late', 'TimeoutError');
  });
  late.catch(() => undefined);
  const asked = connect(signIn, parts).then((provider) => provider.claims(callback, begun));
  try {
    return await Promise.race([asked, late]);
  } catch (error) {
    throw await refusalOf(error, signIn, { request, parts });
  } finally {
    over.abort();
    asked.catch(() => undefined);
  }
}

const codes = { denied: 'sign_in_denied', unreachable: 'sign_in_unavailable', invalid: 'sign_in_invalid' } as const;

async function refusalOf(
  error: unknown,
  { name, title }: SignIn,
  { request, parts }: { readonly request: IncomingMessage; readonly parts: SignInParts },
): Promise<Error> {
  if (error instanceof Refusal) return error;
  const { providerFailure } = await import('./provider.ts');
  const { kind, reason } = providerFailure(error);
  if (kind === 'invalid') failSignIn('unknown', request, parts.access);
  parts.log.warn({ identity: name, kind, reason }, 'a sign-in failed');
  return refusal(codes[kind], { fill: { title, reason } });
}

/** Throws `sign_in_without_rights`. */
function sessionOf(
  signIn: SignIn,
  claims: Claims,
  { request, masterKey, parts }: Pick<Returning, 'request' | 'masterKey' | 'parts'>,
): string {
  const { access, log } = parts;
  const granted = signIn.personOf(claims);
  const address = addressOf(request, access) ?? '';
  let reason = 'its name, user path and models are too long for a session';
  if (typeof granted === 'string') reason = granted;
  else {
    const { person, because } = granted;
    const endsAtMs = access.nowMs() + signIn.lastsMs;
    const cookie = sealSession({ digest: personDigest(person), endsAtMs, person }, masterKey);
    if (cookie.length <= longestSession) {
      const { role, userPath: user_path } = person;
      log.info({ operator: personId(person), address, role, user_path, because }, 'session begun');
      return cookie;
    }
  }
  failSignIn('denied', request, access);
  log.warn({ identity: signIn.name, address, reason }, 'a sign-in gives no rights');
  throw refusal('sign_in_without_rights', { fill: { title: signIn.title, reason } });
}
