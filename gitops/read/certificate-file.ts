// Reads a file of certificates (PEM): bounded, each of them readable.
import { X509Certificate } from 'node:crypto';
import { type KeyReading, readBytes } from './key-file.ts';

/** Longest file: that of a whole system has 250 KiB. Bytes. */
const mostBytes = 1024 * 1024;
const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

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
