// Makes certificates and authorities for a test, valid between two moments, so that none is stored that runs out.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, ...parts);
const text = (tag: number, value: string): Buffer => tagged(tag, Buffer.from(value));
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

/** One DER element. */
function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length: size } = body;
  const long = size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  const length = size < 128 ? [size] : long;
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

/** PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Tags of GeneralName. */
const alternativeTags = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;
/** Object identifiers of the parts of a name. */
const nameParts = { CN: '0603550403', O: '060355040a', OU: '060355040b' } as const;

export interface CertificateFacts {
  readonly subject: Partial<Record<keyof typeof nameParts, string>>;
  readonly alternatives?: readonly (readonly [keyof typeof alternativeTags, string])[];
  /** Unix milliseconds. Default: from an hour ago to in an hour. */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly serial?: number;
}

const hourMs = 3_600_000;
const ecdsa = sequence(bytes('06082a8648ce3d040302'));
const rsa = sequence(bytes('06092a864886f70d01010b0500'));
const algorithmOf = ({ asymmetricKeyType }: KeyObject): Buffer => (asymmetricKeyType === 'rsa' ? rsa : ecdsa);

/** An authority of a test. */
export interface Authority {
  /** PEM. */
  readonly cert: string;
  issue(facts: CertificateFacts): Pair;
  /** A list of revoked serials (CRL), PEM, up to this moment. */
  revoke(serials: readonly number[], toMs?: number): string;
}

/** A new authority with this name. */
export function createAuthority(name = 'Test authority'): Authority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const issuer = { name: nameOf({ CN: name }), privateKey };
  // Basic constraints: an authority.
  const constraints = sequence(bytes('0603551d13'), bytes('0101ff'), tagged(0x04, sequence(bytes('0101ff'))));
  let serials = 1;
  return {
    cert: made({ subject: { CN: name } }, { publicKey, issuer, extensions: [constraints], serial: 1 }),
    issue(facts) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
      serials += 1;
      const extensions = alternativesOf(facts);
      return {
        cert: made(facts, { publicKey: pair.publicKey, issuer, extensions, serial: facts.serial ?? serials }),
        key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      };
    },
    revoke(revoked, toMs = Date.now() + hourMs) {
      const entries = revoked.map((serial) => sequence(whole(serial), moment(Date.now() - hourMs)));
      const content = sequence(
        bytes('020101'),
        ecdsa,
        issuer.name,
        moment(Date.now() - hourMs),
        moment(toMs),
        ...(entries.length === 0 ? [] : [sequence(...entries)]),
      );
      return signed(content, privateKey, 'X509 CRL');
    },
  };
}

/** A new key and its self-signed certificate for a host, valid between two years. */
export function certificate(from: number, to: number, host = 'provider.test', kind: 'ec' | 'rsa' = 'ec'): Pair {
  const { privateKey, publicKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const facts = {
    subject: { CN: host },
    alternatives: [['dns', host]],
    fromMs: Date.UTC(from, 0),
    toMs: Date.UTC(to, 0),
  } as const;
  const issuer = { name: nameOf(facts.subject), privateKey };
  return {
    cert: made(facts, { publicKey, issuer, extensions: alternativesOf(facts), serial: 1 }),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

interface Signing {
  readonly publicKey: KeyObject;
  readonly issuer: { readonly name: Buffer; readonly privateKey: KeyObject };
  readonly extensions: readonly Buffer[];
  readonly serial: number;
}

function made({ subject, fromMs, toMs }: CertificateFacts, { publicKey, issuer, extensions, serial }: Signing): string {
  const content = sequence(
    tagged(0xa0, bytes('020102')),
    whole(serial),
    algorithmOf(issuer.privateKey),
    issuer.name,
    sequence(moment(fromMs ?? Date.now() - hourMs), moment(toMs ?? Date.now() + hourMs)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length === 0 ? [] : [tagged(0xa3, sequence(...extensions))]),
  );
  return signed(content, issuer.privateKey, 'CERTIFICATE');
}

function signed(content: Buffer, privateKey: KeyObject, label: string): string {
  const der = sequence(
    content,
    algorithmOf(privateKey),
    tagged(0x03, bytes('00'), sign('sha256', content, privateKey)),
  );
  return `-----BEGIN ${label}-----\n${der.toString('base64')}\n-----END ${label}-----\n`;
}

function nameOf(subject: CertificateFacts['subject']): Buffer {
  return sequence(
    ...Object.entries(nameParts).flatMap(([part, identifier]) => {
      const value = subject[part as keyof typeof nameParts];
      return value === undefined ? [] : [tagged(0x31, sequence(bytes(identifier), text(0x0c, value)))];
    }),
  );
}

function alternativesOf({ alternatives = [] }: CertificateFacts): Buffer[] {
  if (alternatives.length === 0) return [];
  const names = alternatives.map(([kind, value]) =>
    kind === 'ip'
      ? tagged(alternativeTags.ip, Buffer.from(value.split('.').map(Number)))
      : text(alternativeTags[kind], value),
  );
  return [sequence(bytes('0603551d11'), tagged(0x04, sequence(...names)))];
}

/** GeneralizedTime. */
function moment(ms: number): Buffer {
  return text(0x18, `${new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`);
}

/** A whole number, not negative. */
function whole(value: number): Buffer {
  const hex = value.toString(16);
  const positive = bytes(hex.length % 2 === 0 ? hex : `0${hex}`);
  // A first bit that is set would make it negative.
  return tagged(0x02, (positive[0] ?? 0) < 128 ? positive : Buffer.concat([Buffer.from([0]), positive]));
}
