// Makes a self-signed certificate for a test, valid between two years, so that no certificate is stored that runs out.
import { generateKeyPairSync, sign } from 'node:crypto';

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, ...parts);
const text = (tag: number, value: string): Buffer => tagged(tag, Buffer.from(value));
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

/** One DER element. */
function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

/** A new key and its self-signed certificate for a host, valid between two years. */
export function certificate(
  from: number,
  to: number,
  host = 'provider.test',
  kind: 'ec' | 'rsa' = 'ec',
): { key: string; cert: string } {
  const { privateKey, publicKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const algorithm = sequence(bytes(kind === 'ec' ? '06082a8648ce3d040302' : '06092a864886f70d01010b0500'));
  const name = sequence(tagged(0x31, sequence(bytes('0603550403'), text(0x0c, host))));
  const validity = sequence(text(0x18, `${from}0101000000Z`), text(0x18, `${to}0101000000Z`));
  const alternatives = sequence(bytes('0603551d11'), tagged(0x04, sequence(text(0x82, host))));
  const content = sequence(
    tagged(0xa0, bytes('020102')),
    bytes('020101'),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(alternatives)),
  );
  const signature = sign('sha256', content, privateKey);
  const der = sequence(content, algorithm, tagged(0x03, bytes('00'), signature));
  const cert = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}
