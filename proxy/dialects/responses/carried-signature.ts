// `encrypted_content` of reasoning items: OpenAI's own, and what other providers' signatures become on the way through a client. Clients
// send items back with it, while many leave out the thoughts themselves and every member they do not know.
import type { ReasoningPart, Signature, ToolCallPart } from '../conversation/parts.ts';
import { packSignature, unpackSignature } from '../foreign-signature.ts';
import { type JsonObject, parseObject, textOf, writeJson } from '../json/json.ts';

/** The content of an item's `encrypted_content`. */
export type Carried =
  | { readonly kind: 'encrypted'; readonly encrypted: Signature }
  /** The signature of these thoughts, which must return letter by letter. */
  | { readonly kind: 'thoughts'; readonly text: string; readonly signature: Signature }
  /** The signature of a tool call among the items. */
  | { readonly kind: 'call'; readonly callId: string; readonly signature: Signature };

/** The `encrypted_content` of a part; undefined: it has nothing to keep. */
export function encryptedContent({ text, signature, encrypted }: ReasoningPart): string | undefined {
  const own = openaiContent(encrypted, signature);
  if (own !== undefined) return own;
  if (encrypted !== undefined) return pack(encrypted.family, { encrypted: encrypted.value });
  return signature && pack(signature.family, { signature: signature.value, text });
}

/** OpenAI's own content among these, wherever a client of another dialect kept it. */
export function openaiContent(...kept: readonly (Signature | undefined)[]): string | undefined {
  return kept.find((signature) => signature?.family === 'openai')?.value;
}

/** The `encrypted_content` of an item behind a call that is signed; undefined: it is not. */
export function callContent({ id, signature }: ToolCallPart): string | undefined {
  if (signature === undefined || signature.family === 'openai') return undefined;
  return pack(signature.family, { signature: signature.value, call: id });
}

function pack(family: Signature['family'], value: JsonObject): string {
  return packSignature({ family, value: writeJson(value) }, 'openai');
}

/** Reads an `encrypted_content` that the gateway or OpenAI wrote. */
export function readEncryptedContent(content: string): Carried {
  const { family, value } = unpackSignature(content, 'openai');
  const members = family === 'openai' ? undefined : parseObject(value);
  const signature = textOf(members?.['signature']);
  if (members === undefined || signature === undefined) {
    return { kind: 'encrypted', encrypted: { family, value: textOf(members?.['encrypted']) ?? value } };
  }
  const callId = textOf(members['call']);
  if (callId !== undefined) return { kind: 'call', callId, signature: { family, value: signature } };
  return { kind: 'thoughts', text: textOf(members['text']) ?? '', signature: { family, value: signature } };
}
