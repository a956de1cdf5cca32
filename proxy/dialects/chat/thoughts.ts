// The thoughts of a model in the members of chat servers: a text, the details of OpenRouter, or `extra_content`, which keeps those of
// other families.
import type { ReasoningPart, Signature } from '../conversation/parts.ts';
import { signatureFamilies } from '../foreign-signature.ts';
import { type JsonObject, type JsonValue, listOf, objectOf, textOf } from '../json/json.ts';

/** A piece of thoughts, of a whole message or of a delta. */
export type Thought =
  | { readonly kind: 'text'; readonly text: string }
  /** `index`: as the server numbers it. */
  | { readonly kind: 'summary'; readonly text: string; readonly index: number }
  | { readonly kind: 'signature'; readonly signature: Signature }
  | { readonly kind: 'encrypted'; readonly encrypted: Signature }
  | { readonly kind: 'whole'; readonly part: ReasoningPart };

const nothing: readonly Thought[] = [];

/** The thoughts in a message or a delta. Of several members with the same thoughts the fullest is read. */
export function readThoughts(message: JsonObject): readonly Thought[] {
  const extra = objectOf(message['extra_content']);
  const details = listOf(message['reasoning_details']);
  const text = textOf(message['reasoning_content']) || textOf(message['reasoning']);
  if (extra === undefined && details === undefined) return text ? [{ kind: 'text', text }] : nothing;
  const proof = textOf(objectOf(extra?.['google'])?.['thought_signature']);
  const sealed: Thought[] = proof ? [{ kind: 'signature', signature: { family: 'google', value: proof } }] : [];
  const kept = [...anthropicBlocks(objectOf(extra?.['anthropic'])), ...openaiItems(objectOf(extra?.['openai']))];
  if (kept.length > 0) return [...kept.map((part): Thought => ({ kind: 'whole', part })), ...sealed];
  const detailed = (details ?? []).flatMap(readDetail);
  if (detailed.length > 0) return [...detailed, ...sealed];
  return text ? [{ kind: 'text', text }, ...sealed] : sealed;
}

function anthropicBlocks(anthropic: JsonObject | undefined): readonly ReasoningPart[] {
  return (listOf(anthropic?.['thinking_blocks']) ?? []).flatMap((value): readonly ReasoningPart[] => {
    const block = objectOf(value);
    const data = textOf(block?.['data']);
    if (block?.['type'] === 'redacted_thinking' && data !== undefined) {
      return [{ kind: 'reasoning', text: '', summary: [], encrypted: { family: 'anthropic', value: data } }];
    }
    const text = textOf(block?.['thinking']);
    const proof = textOf(block?.['signature']);
    if (text === undefined) return [];
    const signature: Signature | undefined = proof ? { family: 'anthropic', value: proof } : undefined;
    return [{ kind: 'reasoning', text, summary: [], signature }];
  });
}

function openaiItems(openai: JsonObject | undefined): readonly ReasoningPart[] {
  return (listOf(openai?.['reasoning']) ?? []).flatMap((value): readonly ReasoningPart[] => {
    const item = objectOf(value);
    if (item === undefined) return [];
    const { type: _, summary, content, encrypted_content: encrypted, ...members } = item;
    const data = textOf(encrypted);
    return [
      {
        kind: 'reasoning',
        text: textsOf(content).join(''),
        summary: textsOf(summary),
        encrypted: data === undefined ? undefined : { family: 'openai', value: data },
        own: Object.keys(members).length === 0 ? undefined : { dialect: 'responses', members },
      },
    ];
  });
}

/** The texts in a list of objects that have one. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  return (listOf(value) ?? []).flatMap((entry) => textOf(objectOf(entry)?.['text']) ?? []);
}

function readDetail(value: JsonValue): readonly Thought[] {
  const detail = objectOf(value);
  if (detail === undefined) return nothing;
  const family = signatureFamilies.find((name) => textOf(detail['format'])?.startsWith(name));
  const text = textOf(detail['text']);
  const summary = textOf(detail['summary']);
  const proof = textOf(detail['signature']);
  const data = textOf(detail['data']);
  const index = typeof detail['index'] === 'number' ? detail['index'] : 0;
  const read: Thought[] = [];
  if (text) read.push({ kind: 'text', text });
  if (summary) read.push({ kind: 'summary', text: summary, index });
  if (proof && family !== undefined) read.push({ kind: 'signature', signature: { family, value: proof } });
  if (data && family !== undefined) read.push({ kind: 'encrypted', encrypted: { family, value: data } });
  return read;
}

const formats = {
  anthropic: 'anthropic-claude-v1',
  openai: 'openai-responses-v1',
  google: 'google-gemini-v1',
} as const satisfies Record<Signature['family'], string>;

/** Thoughts as OpenRouter takes them back: `reasoning_details`. */
export function writeDetails(parts: readonly ReasoningPart[]): readonly JsonObject[] {
  return parts.flatMap(({ text, summary, signature, encrypted }, index): readonly JsonObject[] => {
    const family = signature?.family ?? encrypted?.family;
    const format = family === undefined ? 'unknown' : formats[family];
    const told: JsonObject[] = summary.map((said) => ({ type: 'reasoning.summary', summary: said, format, index }));
    if (text !== '' || signature !== undefined) {
      told.push({ type: 'reasoning.text', text, signature: signature?.value, format, index });
    }
    if (encrypted !== undefined) told.push({ type: 'reasoning.encrypted', data: encrypted.value, format, index });
    return told;
  });
}

/** `extra_content`, in which clients of chat keep the signatures of other families; undefined when there are none. */
export function writeExtraContent(parts: readonly ReasoningPart[]): JsonObject | undefined {
  const blocks = parts.flatMap(anthropicBlock);
  const items = parts.flatMap(openaiItem);
  const proof = parts.findLast(({ signature }) => signature?.family === 'google')?.signature?.value;
  if (blocks.length === 0 && items.length === 0 && proof === undefined) return undefined;
  return {
    anthropic: blocks.length === 0 ? undefined : { thinking_blocks: blocks },
    openai: items.length === 0 ? undefined : { reasoning: items },
    google: proof === undefined ? undefined : { thought_signature: proof },
  };
}

function anthropicBlock({ text, signature, encrypted }: ReasoningPart): readonly JsonObject[] {
  if (encrypted?.family === 'anthropic') return [{ type: 'redacted_thinking', data: encrypted.value }];
  return signature?.family === 'anthropic' ? [{ type: 'thinking', thinking: text, signature: signature.value }] : [];
}

function openaiItem({ text, summary, encrypted, own }: ReasoningPart): readonly JsonObject[] {
  const members = own?.dialect === 'responses' ? own.members : undefined;
  if (encrypted?.family !== 'openai' && members === undefined) return [];
  return [
    {
      type: 'reasoning',
      ...members,
      summary: summary.map((said) => ({ type: 'summary_text', text: said })),
      content: text === '' ? undefined : [{ type: 'reasoning_text', text }],
      encrypted_content: encrypted?.value,
    },
  ];
}

/** The thoughts that people may read; summaries where the thoughts are hidden. */
export function visibleThoughts(parts: readonly ReasoningPart[]): string {
  return parts
    .map(({ text, summary }) => text || summary.join('\n\n'))
    .filter((text) => text !== '')
    .join('\n\n');
}
