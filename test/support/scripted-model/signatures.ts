// Proofs of thoughts: a provider knows its own again, and refuses those of others.
import { createHash } from 'node:crypto';
import { must } from './checks.ts';

/** The proof that the provider of this dialect thought so. Base64 of the thought and a seal. */
export function sign(dialect: string, thought: string): string {
  return Buffer.from(`${seal(dialect, thought)} ${thought}`).toString('base64');
}

/** Refuses one that the provider did not make. `thought`: what it must be of; undefined: of anything. */
export function checkSignature(dialect: string, signature: string, thought?: string): void {
  const [mark, ...words] = Buffer.from(signature, 'base64').toString('utf8').split(' ');
  const proven = words.join(' ');
  const isOwn = mark === seal(dialect, proven) && (thought === undefined || thought === proven);
  must(isOwn, `Invalid signature in a thought: ${signature.slice(0, 40)}`);
}

function seal(dialect: string, thought: string): string {
  return createHash('sha256').update(`${dialect}: ${thought}`).digest('hex').slice(0, 16);
}
