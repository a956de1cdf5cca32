// A strict server of Google's `generateContent`, with a model of the third generation: its calls have no ids, but a proof of thoughts.
import { readGemini } from './read-gemini.ts';
import { sign } from './signatures.ts';
import { deltasOf, type Said, sse, type Wire } from './wire.ts';

export const geminiWire: Wire = {
  name: 'gemini',
  model: 'gemini-3-flash-preview',
  streamType: 'text/event-stream',
  read: readGemini,
  answer: (said) => chunk(said, partsOf(said, [said.saying.thought], [said.saying.text]), true),
  stream(said) {
    const { thought, text: words } = said.saying;
    const parts = partsOf(said, deltasOf(thought, 11), deltasOf(words, 11));
    const chunks = parts.map((part, index) => chunk(said, [part], index === parts.length - 1));
    return chunks.map((one) => sse(one).replaceAll('\n', '\r\n'));
  },
  failure: (message) => sse({ error: { code: 503, message, status: 'UNAVAILABLE' } }).replaceAll('\n', '\r\n'),
  error: (code, message) => ({
    error: { code, message, status: code === 429 ? 'RESOURCE_EXHAUSTED' : 'INVALID_ARGUMENT' },
  }),
};

function partsOf({ saying }: Said, thoughts: readonly string[], texts: readonly string[]): readonly object[] {
  const { thought, calls } = saying;
  const signature = sign('gemini', thought === '' ? JSON.stringify(calls) : thought);
  return [
    ...thoughts.filter(Boolean).map((piece) => ({ text: piece, thought: true })),
    ...texts.filter(Boolean).map((piece) => ({ text: piece })),
    ...calls.map(({ name, input }, index) => ({
      functionCall: { name, args: input },
      // Of calls that are made at once, the first one has the proof.
      ...(index === 0 ? { thoughtSignature: signature } : {}),
    })),
  ];
}

function chunk({ saying, heard, number }: Said, parts: readonly object[], isLast: boolean): object {
  const { input, cached, output, thoughts } = saying.usage;
  const counts = {
    promptTokenCount: input,
    cachedContentTokenCount: cached,
    candidatesTokenCount: output - thoughts,
    thoughtsTokenCount: thoughts,
    totalTokenCount: input + output,
  };
  return {
    candidates: [{ content: { parts, role: 'model' }, ...(isLast ? { finishReason: 'STOP' } : {}), index: 0 }],
    usageMetadata: isLast
      ? counts
      : { promptTokenCount: input, cachedContentTokenCount: cached, totalTokenCount: input },
    modelVersion: heard.model,
    responseId: `answer-${number}`,
  };
}
