// Proofs of thoughts: a provider knows those of its models again, and refuses others. Anthropic's are good wherever its models are served.
import { createHash } from 'node:crypto';
import { must } from './checks.ts';

/** The proof that a model of this maker thought so. Base64 of the thought and a seal. */
export function sign(maker: string, thought: string): string {
  return Buffer.from(`${seal(maker, thought)} ${thought}`).toString('base64');
}

/** Refuses one that the maker did not make. `thought`: what it must be of; undefined: of anything. */
export function checkSignature(maker: string, signature: string, thought?: string): void {
  const [mark, ...words] = Buffer.from(signature, 'base64').toString('utf8').split(' ');
  const proven = words.join(' ');
  const isOwn = mark === seal(maker, proven) && (thought === undefined || thought === proven);
  must(isOwn, `Invalid signature in a thought: ${signature.slice(0, 40)}`);
}

function seal(maker: string, thought: string): string {
  return createHash('sha256').update(`${maker}: ${thought}`).digest('hex').slice(0, 16);
}
