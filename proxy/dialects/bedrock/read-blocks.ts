// Blocks of content that Bedrock answers with, as parts of the conversation.
import type { Citation, Part, Signature } from '../conversation/parts.ts';
import { type JsonObject, listOf, objectOf, textOf, writeJson } from '../json/json.ts';
import { InvalidAnswer } from '../translation.ts';

/** The part of a block; undefined when it is empty. Throws an InvalidAnswer. */
export function readBlock(block: JsonObject): Part | undefined {
  const text = textOf(block['text']);
  if (text !== undefined) return text === '' ? undefined : { kind: 'text', text };
  const toolUse = objectOf(block['toolUse']);
  if (toolUse !== undefined) {
    return { kind: 'tool_call', ...readToolUse(toolUse), input: writeJson(toolUse['input'] ?? {}), isFreeText: false };
  }
  const reasoning = objectOf(block['reasoningContent']);
  if (reasoning !== undefined) return readReasoning(reasoning);
  const cited = objectOf(block['citationsContent']);
  if (cited !== undefined) return readCited(cited);
  const image = readImage(objectOf(block['image']));
  return image ?? { kind: 'foreign', dialect: 'bedrock', name: Object.keys(block)[0] ?? 'block', value: block };
}

/** The id and the name of a tool call. Throws an InvalidAnswer when one is missing. */
export function readToolUse(toolUse: JsonObject): { readonly id: string; readonly name: string } {
  const name = textOf(toolUse['name']);
  if (!name) throw new InvalidAnswer('a tool call has no name');
  return { id: textOf(toolUse['toolUseId']) ?? '', name };
}

/** A signature of Claude, the only family that signs on Bedrock. */
export function signatureOf(value: string): Signature {
  return { family: 'anthropic', value };
}

/** A citation of an answer, or of a delta: they have the same members. */
export function readCitation(citation: JsonObject): Citation {
  const web = objectOf(objectOf(citation['location'])?.['web']);
  const source = textOf(citation['source']);
  const cited = listOf(citation['sourceContent'])?.map((content) => textOf(objectOf(content)?.['text']) ?? '');
  return {
    url: textOf(web?.['url']) ?? (source !== undefined && /^https?:/.test(source) ? source : undefined),
    title: textOf(citation['title']),
    citedText: cited?.join('') || undefined,
    own: { dialect: 'bedrock', members: citation },
  };
}

function readReasoning(reasoning: JsonObject): Part {
  const { text, signature } = objectOf(reasoning['reasoningText']) ?? {};
  const redacted = textOf(reasoning['redactedContent']);
  const signed = textOf(signature);
  return {
    kind: 'reasoning',
    text: textOf(text) ?? '',
    summary: [],
    signature: signed ? signatureOf(signed) : undefined,
    encrypted: redacted === undefined ? undefined : signatureOf(redacted),
  };
}

function readCited(cited: JsonObject): Part | undefined {
  const text =
    listOf(cited['content'])
      ?.map((content) => textOf(objectOf(content)?.['text']) ?? '')
      .join('') ?? '';
  const citations = listOf(cited['citations'])?.flatMap((value) => {
    const citation = objectOf(value);
    return citation === undefined ? [] : [readCitation(citation)];
  });
  if (text === '' && !citations?.length) return undefined;
  return { kind: 'text', text, citations: citations?.length ? citations : undefined };
}

function readImage(image: JsonObject | undefined): Part | undefined {
  const data = textOf(objectOf(image?.['source'])?.['bytes']);
  const format = textOf(image?.['format']);
  if (data === undefined || format === undefined) return undefined;
  return { kind: 'image', source: { kind: 'base64', mediaType: `image/${format}`, data } };
}
