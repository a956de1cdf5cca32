// Proofs that the demo model thought something: clients send them back, and only its own are taken.
import { createHmac } from 'node:crypto';

/** Who reads the proof: a signature of messages is none for responses. */
export type Purpose = 'messages' | 'responses';

const key = 'the demo provider keeps no secrets';
const markBytes = 32;

/** A proof that holds the thought itself, in base64. */
export function seal(thought: string, purpose: Purpose): string {
  const mark = createHmac('sha256', key).update(`${purpose}\n${thought}`).digest();
  return Buffer.concat([mark, Buffer.from(thought)]).toString('base64');
}

/** The thought in a proof; undefined when the demo model did not make it for this purpose. */
export function unseal(proof: string, purpose: Purpose): string | undefined {
  const thought = Buffer.from(proof, 'base64').subarray(markBytes).toString();
  return seal(thought, purpose) === proof ? thought : undefined;
}
