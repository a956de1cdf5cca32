// Reads the files of a listener that speaks TLS: certificate, key, authorities of clients, revocation lists. They are checked together, because
// each may be sound while they do not fit. No message holds their content.
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { timestamp } from '../../domain/timestamp.ts';
import { certificates, privateKey, revocationLists } from './certificate-file.ts';

/** The members of `server.tls` and `admin.tls` that name files. */
export interface ListenerFiles {
  readonly certificate_file: string;
  readonly key_file: string;
  readonly client_certificates?: { readonly ca_file: string; readonly crl_file?: string | undefined } | undefined;
}

/** The content of the files: PEM. */
export interface ListenerMaterial {
  /** That of the listener first. */
  readonly certificate: string;
  readonly key: string;
  /** Of clients. */
  readonly authorities?: string;
  readonly revocations?: string;
  /** When the certificates are valid, all of them: Unix milliseconds. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** `at`: the member whose file is at fault; `trouble`: the end of a sentence that begins with that file. */
export interface FileTrouble {
  readonly at: readonly string[];
  readonly trouble: string;
}

type Reading = ListenerMaterial | FileTrouble;

/**
 * A reader of all files, which sees whether TLS can be spoken with them when their content has changed. Times are not compared. It never
 * rejects.
 */
export function listenerReader({
  certificate_file,
  key_file,
  client_certificates,
}: ListenerFiles): () => Promise<Reading> {
  const files = [
    [['certificate_file'], certificate_file, certificates],
    [['key_file'], key_file, privateKey],
    [['client_certificates', 'ca_file'], client_certificates?.ca_file, certificates],
    [['client_certificates', 'crl_file'], client_certificates?.crl_file, revocationLists],
  ] as const;
  let last: { readonly texts: readonly string[]; readonly reading: Reading } | undefined;
  return async () => {
    const texts: string[] = [];
    for (const [at, path, reader] of files) {
      const reading = path === undefined ? { key: '' } : await reader.later(path);
      if ('trouble' in reading) return { at, trouble: reading.trouble };
      texts.push(reading.key);
    }
    if (last?.texts.join() !== texts.join()) last = { texts, reading: fitTogether(texts) };
    return last.reading;
  };
}

/** Why a certificate that is read must not be used at this time, as the end of a sentence; undefined: it may. */
export function untimely({ notBeforeMs, notAfterMs }: ListenerMaterial, nowMs: number): string | undefined {
  if (nowMs >= notAfterMs) return `holds a certificate that has expired (${timestamp(notAfterMs)})`;
  return nowMs < notBeforeMs ? `holds a certificate that is not valid before ${timestamp(notBeforeMs)}` : undefined;
}

/** `texts`: PEM of each file in their order, empty for one that is not named. */
function fitTogether([certificate = '', key = '', authorities = '', revocations = '']: readonly string[]): Reading {
  const trouble = contextTrouble({ cert: certificate, key });
  if (trouble !== undefined) return trouble;
  if (authorities !== '' && contextTrouble({ ca: authorities }) !== undefined)
    return { at: ['client_certificates', 'ca_file'], trouble: 'holds a certificate that cannot be used' };
  if (revocations !== '' && contextTrouble({ crl: revocations }) !== undefined)
    return { at: ['client_certificates', 'crl_file'], trouble: 'holds a revocation list that is broken' };
  const chain = certificate.split(/(?<=-----END CERTIFICATE-----)\s+/).map((pem) => new X509Certificate(pem));
  return {
    certificate,
    key,
    ...(authorities === '' ? {} : { authorities }),
    ...(revocations === '' ? {} : { revocations }),
    notBeforeMs: Math.max(...chain.map(({ validFromDate }) => validFromDate.getTime())),
    notAfterMs: Math.min(...chain.map(({ validToDate }) => validToDate.getTime())),
  };
}

function contextTrouble(options: Parameters<typeof createSecureContext>[0]): FileTrouble | undefined {
  try {
    // Without `ca` the authorities of the system would be read.
    createSecureContext({ ca: [], ...options });
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' || code === 'ERR_OSSL_X509_KEY_TYPE_MISMATCH')
      return { at: ['key_file'], trouble: 'holds a key that does not belong to the certificate' };
    const reason = code
      .replace(/^ERR_(OSSL|SSL)_/, '')
      .replaceAll('_', ' ')
      .toLowerCase();
    return { at: ['certificate_file'], trouble: `holds a certificate that TLS cannot be spoken with (${reason})` };
  }
}
