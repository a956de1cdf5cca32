// The routes of /admin/session: a browser logs in with a key, learns who it is, and logs out. The key is in the cookie only as a digest.
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { endedSessions } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import { clientAddressHeader } from '../../../domain/keys/client-address.ts';
import { endSession } from '../../../domain/keys/ended-sessions.ts';
import { digestOf } from '../../../domain/keys/secret.ts';
import { csrfTokenOf, sealSession, sessionMs, writeSessionCookie } from '../../../domain/keys/session.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { isOwnPage } from '../../../plane/access/browser-session.ts';
import { isEncrypted } from '../../../plane/tls/encrypted.ts';
import { stateRevision } from '../../../schemas/state-revision.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { type AccessParts, addressOf, isScoped, logIn, type Operator, who } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { createCommitter, type DocumentStore } from '../../managed/commit.ts';
import { createBodyReader } from '../../managed/read-body.ts';
import { storedKind } from '../../managed/stored-kind.ts';
import type { SignOut } from '../sign-in/sign-out.ts';

export interface SessionParts {
  readonly access: AccessParts;
  /** Where it is kept which sessions were ended. */
  readonly store: DocumentStore;
  readonly signOutUrl: SignOut;
  /** Of this program. */
  readonly version: string;
  readonly log: Record<'info', (facts: object, text: string) => void>;
}

/** Of the answer to a log-out: where the browser signs out at its identity provider, too. */
const signOutHeader = 'x-gateway-sign-out';

const readLogin = createBodyReader(bodies.sessionWrite);

/** A wrong key counts as a failed login, as on every other route. */
export const sessionRoutes: FastifyPluginAsync<{ readonly parts: SessionParts }> = async (app, { parts }) => {
  const { access, version, log } = parts;
  const commit = createCommitter(parts.store, [endedSessions]);
  const describe = (operator: Operator, cookie: string | undefined, endsAtMs: number | undefined): object => ({
    kind: operator.kind,
    key_id: operator.kind === 'person' ? null : (operator.keyId ?? null),
    key_name: operator.key?.name ?? null,
    role: operator.role,
    person: personOf(operator),
    user_path: operator.userPath,
    scoped: isScoped(operator),
    expires_at: endsAtMs === undefined ? null : timestamp(endsAtMs),
    csrf_token: cookie === undefined || access.masterKey === undefined ? null : csrfTokenOf(cookie, access.masterKey),
    version,
    server_time: timestamp(access.nowMs()),
  });

  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));

  app.get('/admin/session', { exposeHeadRoute: false }, async ({ operator }) =>
    describe(operator, operator.session?.cookie, operator.session?.endsAtMs),
  );

  app.post('/admin/session', { config: { access: 'public' }, bodyLimit: 4096 }, async (request, reply) => {
    if (isOwnPage(request.headers) === false) throw refusal('csrf_refused');
    const { key } = readLogin(request.body);
    const { masterKey } = access;
    if (masterKey === undefined) throw refusal('session_not_needed');
    const operator = logIn(key, true, request.raw, access);
    const endsAtMs = access.nowMs() + sessionMs;
    const cookie = sealSession({ digest: digestOf(key), endsAtMs }, masterKey);
    log.info({ operator: who({ operator }), address: addressOf(request.raw, access) ?? '' }, 'session begun');
    setCookie(request, reply, cookie);
    return describe(operator, cookie, endsAtMs);
  });

  app.delete('/admin/session', async (request, reply) => {
    const { session } = request.operator;
    // The browser forgets it in any case, also when the store fails.
    setCookie(request, reply, undefined);
    if (session !== undefined) {
      const { revision } = await commit((state) => {
        const stored = storedKind(endedSessions, state).values();
        const ending = endSession(stored, session, Math.floor(access.nowMs()));
        return {
          changes: [
            ...ending.written.map((each) => written(endedSessions, each.id, each)),
            ...ending.removed.map((id) => removed(endedSessions, id)),
          ],
        };
      });
      reply.headers(stateRevision(revision));
    }
    log.info({ operator: who(request), address: request.begun.clientAddress }, 'session ended');
    const url = session?.person === undefined ? undefined : await parts.signOutUrl(session.person);
    if (url !== undefined) void reply.header(signOutHeader, url);
    return reply.code(204).send();
  });
};

function personOf({ session }: Operator): object | null {
  if (session?.person === undefined) return null;
  const { identity, subject, name } = session.person;
  return { identity, subject, name };
}

function setCookie({ headers, raw }: FastifyRequest, reply: FastifyReply, value: string | undefined): void {
  // A proxy says which protocol the browser used. A client that sends a false header changes only its own cookie.
  const isForwarded = headers[clientAddressHeader] !== undefined && headers['x-forwarded-proto'] === 'https';
  void reply.header(
    'set-cookie',
    writeSessionCookie(value, isForwarded || isEncrypted(raw.socket) || headers.origin?.startsWith('https:') === true),
  );
}
