// Reads files of certificates and of a private key (PEM): bounded, each of them readable. No message holds their content.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type KeyReading, readBytes, readBytesSync } from './key-file.ts';

/** Longest file: that of a whole system has 250 KiB. Bytes. */
const mostBytes = 1024 * 1024;
const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
const listBlock = /-----BEGIN X509 CRL-----[^-]*-----END X509 CRL-----/g;
const privateBlock = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[^-]*-----END (?:[A-Z]+ )?PRIVATE KEY-----/;

/** A reader that looks at the certificates only when the content has changed. It never rejects. */
export function certificateReader(): (path: string) => Promise<KeyReading> {
  let lastBytes: Buffer | undefined;
  let last: KeyReading = { trouble: 'is empty' };
  return async (path) => {
    const reading = await readBytes(path, mostBytes);
    if ('trouble' in reading) return reading;
    const { bytes } = reading;
    if (lastBytes?.equals(bytes) !== true) last = certificatesIn(bytes);
    lastBytes = bytes;
    return last;
  };
}

/** What a file in PEM may hold, and how that is read: without waiting for the start of a process, and later. They never throw. */
export interface PemReader {
  readonly now: (path: string) => KeyReading;
  readonly later: (path: string) => Promise<KeyReading>;
}

export const certificates: PemReader = pemReader(certificatesIn);
/** One private key without a password. */
export const privateKey: PemReader = pemReader(privateKeyIn);
/** Lists of revoked certificates; whether they are sound is not looked at. */
export const revocationLists: PemReader = pemReader(listsIn);

function pemReader(parse: (bytes: Buffer) => KeyReading): PemReader {
  const parsed = (reading: ReturnType<typeof readBytesSync>): KeyReading =>
    'trouble' in reading ? reading : parse(reading.bytes);
  return {
    now: (path) => parsed(readBytesSync(path, mostBytes)),
    later: async (path) => parsed(await readBytes(path, mostBytes)),
  };
}

function listsIn(bytes: Buffer): KeyReading {
  if (bytes.length > mostBytes) return { trouble: 'is larger than 1 MiB' };
  const found = bytes.toString('latin1').match(listBlock) ?? [];
  return found.length === 0 ? { trouble: 'holds no revocation list (PEM)' } : { key: found.join('\n') };
}

function privateKeyIn(bytes: Buffer): KeyReading {
  const [pem] = privateBlock.exec(bytes.toString('latin1')) ?? [];
  if (pem === undefined) return { trouble: 'holds no private key (PEM)' };
  try {
    createPrivateKey(pem);
    return { key: pem };
  } catch {
    return { trouble: 'holds a private key that is broken, or has a password' };
  }
}

function certificatesIn(bytes: Buffer): KeyReading {
  if (bytes.length > mostBytes) return { trouble: 'is larger than 1 MiB' };
  const found = bytes.toString('latin1').match(block) ?? [];
  if (found.length === 0) return { trouble: 'holds no certificate (PEM)' };
  const broken = found.findIndex((pem) => !isCertificate(pem));
  // Of a file with a private key, too, only certificates are kept.
  return broken === -1
    ? { key: found.join('\n') }
    : { trouble: `holds a certificate that is broken, number ${broken + 1}` };
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
