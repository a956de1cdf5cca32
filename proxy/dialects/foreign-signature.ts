// Carries a signature of one family through a client of another: what an Anthropic client keeps as a signature may be Google's.

import { spells } from '../bytes/spells.ts';
import type { Signature } from './conversation/parts.ts';
import { parseObject, textOf, writeJson } from './json/json.ts';

const mark = 'gw1.';

/** Whether the gateway wrote a signature: such a one holds the signed words. */
export function isSignedHere(signature: string | undefined): boolean {
  return signature?.startsWith(mark) === true;
}

/** `isSignedHere` for a JSON string whose quote is at byte `start` of a body. */
export function isSignedHereAt(body: Buffer, start: number): boolean {
  return spells(body, start + 1, mark);
}

export const signatureFamilies: readonly Signature['family'][] = ['anthropic', 'openai', 'google'];

/** The signature for a client of the family `own`: its own family's unchanged, others marked with their family. */
export function packSignature({ family, value }: Signature, own: Signature['family']): string {
  return family === own ? value : mark + Buffer.from(writeJson({ family, value })).toString('base64url');
}

/** The inverse of `packSignature`, for a text that a client of the family `own` sent back. */
export function unpackSignature(text: string, own: Signature['family']): Signature {
  if (!text.startsWith(mark)) return { family: own, value: text };
  const packed = parseObject(Buffer.from(text.slice(mark.length), 'base64url').toString('utf8'));
  const family = signatureFamilies.find((name) => name === packed?.['family']);
  const value = textOf(packed?.['value']);
  return value === undefined || family === undefined ? { family: own, value: text } : { family, value };
}
