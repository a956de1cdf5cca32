// Refuses whatever comes over a connection whose client has shown a certificate that it should not have shown.
import type { CertificateKeys } from '../../plane/tls/certificate-keys.ts';
import { refusal } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/** Throws 401 `client_certificate_refused` for a certificate that cannot be verified, has expired or is denied, with a key or without. */
export function refuseCertificate(
  { request }: Pick<Exchange, 'request'>,
  certificates: Pick<CertificateKeys, 'trouble'>,
): void {
  const reason = certificates.trouble(request.socket);
  if (reason !== undefined) throw refusal('client_certificate_refused', { fill: { reason } });
}
