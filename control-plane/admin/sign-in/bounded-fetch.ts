// Asks an identity provider: its answer is bounded in time and size, so that one that hangs or sends without end holds nobody up.

/** How long one answer may take with its body. Milliseconds. */
export const answerMs = 5_000;
/** Of one answer: discovery documents, keys, tokens and claims are far smaller. Bytes. */
const longestAnswer = 512 * 1024;

/** An answer that is too long. */
export class AnswerTooLong extends Error {
  constructor() {
    super(`its answer is longer than ${longestAnswer / 1024} KiB`);
    this.name = 'AnswerTooLong';
  }
}

/** `fetch` for `openid-client`. The whole answer is read here. Rejects with `AnswerTooLong`, and as `fetch` does. */
export async function boundedFetch(url: string, init: object): Promise<Response> {
  const { signal, ...asked } = init as RequestInit;
  const late = AbortSignal.timeout(answerMs);
  const answer = await fetch(url, { ...asked, signal: signal ? AbortSignal.any([signal, late]) : late });
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of answer.body ?? []) {
    length += piece.length;
    if (length > longestAnswer) throw new AnswerTooLong();
    pieces.push(piece);
  }
  const { status, headers } = answer;
  const hasBody = status !== 204 && status !== 304;
  return new Response(hasBody ? Buffer.concat(pieces) : null, { status, headers });
}
