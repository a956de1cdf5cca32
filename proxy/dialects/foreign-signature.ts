// Carries a signature of one family through a client of another: what an Anthropic client keeps as a signature may be Google's.

import type { Signature } from './conversation/parts.ts';
import { parseObject, textOf, writeJson } from './json.ts';

const mark = 'gw1.';
const families: readonly string[] = ['anthropic', 'openai', 'google'] satisfies Signature['family'][];

/** What a client of the family `own` keeps: its own signatures as they are, others marked with their family. */
export function packSignature({ family, value }: Signature, own: Signature['family']): string {
  return family === own ? value : mark + Buffer.from(writeJson({ family, value })).toString('base64url');
}

/** The signature again, from what a client of the family `own` sent back. */
export function unpackSignature(text: string, own: Signature['family']): Signature {
  if (!text.startsWith(mark)) return { family: own, value: text };
  const packed = parseObject(Buffer.from(text.slice(mark.length), 'base64url').toString('utf8'));
  const family = textOf(packed?.['family']) ?? '';
  const value = textOf(packed?.['value']);
  if (value === undefined || !families.includes(family)) return { family: own, value: text };
  return { family: family as Signature['family'], value };
}
