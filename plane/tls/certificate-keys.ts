// The rights of client certificates by the configuration in force. A certificate stands for a key, as a token does.
import type { Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Claims } from '../../domain/conditions/claim-path.ts';
import { certificateIdentity, type Identity, identityOf } from '../../domain/identities/identity.ts';
import { rightsOf, type Verdict } from '../../domain/identities/rights.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { tokenKey } from '../../domain/keys/token-key.ts';
import type { ClientCertificates, ServerTLS } from '../../schemas/types.ts';
import type { Commit } from '../put-in-force.ts';
import { type ClientCertificate, certificateOf, plainHex } from './client-certificate.ts';

/** Exactly one of the two. `refused`: the rest of a sentence about the certificate. */
export type JudgedCertificate =
  | { readonly key: AuthKey; readonly refused?: undefined }
  | { readonly refused: string; readonly key?: undefined };

interface Rules {
  /** Undefined: a certificate gives no rights. */
  readonly identity: Identity | undefined;
  readonly fingerprints: ReadonlySet<string>;
  readonly serials: ReadonlySet<string>;
}

const none: Rules = { identity: undefined, fingerprints: new Set(), serials: new Set() };
const place = 'server.tls.client_certificates';
/** What a key remembers of its certificate, at most. Bytes. */
const certificateBytes = 8 * 1024;

export class CertificateKeys {
  readonly #nowMs: () => number;
  readonly #known = new WeakMap<Socket, { readonly rules: Rules; readonly judged: JudgedCertificate }>();
  #written: ClientCertificates | undefined;
  #rules = none;

  /** `nowMs`: the time by which keys end. Unix milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Throws for templates and conditions that are none. Rules that do not change stay the same object. */
  prepare(tls: ServerTLS | undefined): Commit {
    const written = tls?.client_certificates;
    if (isDeepStrictEqual(written, this.#written)) return () => undefined;
    const rules = written === undefined ? none : rulesOf(written);
    return () => {
      this.#written = written;
      this.#rules = rules;
    };
  }

  /** Why no request of this connection is served; undefined: it is, or its client has shown no certificate. */
  trouble(socket: Socket): string | undefined {
    const certificate = certificateOf(socket);
    return certificate === undefined ? undefined : this.#troubleOf(certificate);
  }

  /** The key that the certificate of a connection stands for. Undefined: there is none, or it gives no rights. */
  judge(socket: Socket): JudgedCertificate | undefined {
    const { identity } = this.#rules;
    if (identity === undefined) return undefined;
    const certificate = certificateOf(socket);
    if (certificate === undefined) return undefined;
    const trouble = this.#troubleOf(certificate);
    if (trouble !== undefined) return { refused: trouble };
    const before = this.#known.get(socket);
    if (before?.rules === this.#rules) return before.judged;
    const { claims, fingerprint, notAfterMs: expiresAtMs } = certificate;
    const { rights, refused } = certificateRights(identity, claims);
    const digest = digestOf(`certificate ${fingerprint}`);
    const judged: JudgedCertificate =
      rights === undefined
        ? { refused: refused.message.replaceAll('token', 'certificate') }
        : { key: tokenKey({ identity, claims, bytes: certificateBytes, digest, expiresAtMs }, rights) };
    this.#known.set(socket, { rules: this.#rules, judged });
    return judged;
  }

  /** Whether a key stands for a certificate. */
  owns({ token }: AuthKey): boolean {
    return token?.identity.name === certificateIdentity;
  }

  /** The key with the rights that it has now; undefined: it has ended, or is not let in any more. */
  now(key: AuthKey): AuthKey | undefined {
    const { token, expiresAtMs, digest } = key;
    const { identity } = this.#rules;
    if (token === undefined || identity === undefined || this.#nowMs() >= expiresAtMs) return undefined;
    const { fingerprint, serial } = token.claims;
    if (this.#isDenied({ fingerprint: String(fingerprint), serial: String(serial) })) return undefined;
    if (identity === token.identity) return key;
    const { rights } = certificateRights(identity, token.claims);
    return rights && tokenKey({ ...token, identity, digest, expiresAtMs }, rights);
  }

  #troubleOf(certificate: ClientCertificate): string | undefined {
    if (certificate.trouble !== undefined) return certificate.trouble;
    if (this.#nowMs() >= certificate.notAfterMs) return 'it has expired';
    return this.#isDenied(certificate) ? `it is denied (${place}.deny)` : undefined;
  }

  #isDenied({ fingerprint, serial }: Pick<ClientCertificate, 'fingerprint' | 'serial'>): boolean {
    return this.#rules.fingerprints.has(fingerprint) || this.#rules.serials.has(serial);
  }
}

/** The id names the issuer, too: two authorities may give different clients the same name. */
function certificateRights(identity: Identity, claims: Claims): Verdict {
  const verdict = rightsOf(identity, claims);
  if (verdict.rights === undefined) return verdict;
  return {
    rights: { ...verdict.rights, id: `${identity.name}:${String(claims['issuer'])}:${verdict.rights.subject}` },
  };
}

function rulesOf(written: ClientCertificates): Rules {
  const { user_path, labels, allowed_models, rights, deny } = written;
  const givesRights = user_path !== undefined || rights.some((right) => right.user_path !== undefined);
  const identity = givesRights
    ? identityOf(
        certificateIdentity,
        {
          ...ofTokens,
          // Absent, it is in the rights.
          ...(user_path === undefined ? {} : { user_path }),
          ...(labels === undefined ? {} : { labels }),
          ...(allowed_models === undefined ? {} : { allowed_models }),
          rights,
        } as Parameters<typeof identityOf>[1],
        place,
      )
    : undefined;
  return {
    identity,
    fingerprints: new Set(deny.fingerprints.map(plainHex)),
    serials: new Set(deny.serials.map(plainHex)),
  };
}

/** What only tokens have. */
const ofTokens = {
  issuer: '',
  audience: [],
  algorithms: [],
  clock_skew: '0s',
  keys_kept_for: '0s',
  allow_private: false,
  deny: { subjects: [], jti: [] },
};
