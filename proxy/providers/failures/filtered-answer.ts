// An answer of success that a vendor has filtered: its reason to finish says so.
import { type Refusal, upstreamRefusal } from '../../errors.ts';

/**
 * OpenAI and Azure (`content_filter`), Anthropic (`refusal`), Google (ai.google.dev/api/generate-content#FinishReason) and Bedrock
 * (docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, `stopReason`). Within a text the quotes would be escaped.
 */
const filtered =
  /(?:"(?:finish_?reason|stop_?reason|block_?reason)"|"incomplete_details"\s*:\s*\{\s*"reason")\s*:\s*"(?:content_filter(?:ed)?|refusal|guardrail_intervened|SAFETY|PROHIBITED_CONTENT|BLOCKLIST|SPII)"/i;
/** The number of bytes that are searched. */
const mostBytes = 256 * 1024;

/** Whether an answer, or the beginning of a stream, says that its content was filtered. */
export function isFiltered(body: Buffer): boolean {
  return filtered.test(body.toString('latin1', 0, mostBytes));
}

/** The refusal that such an answer stands for, where another provider may be asked. */
export function filteredRefusal(provider: string): Refusal {
  const said = { message: 'The provider filtered the content of its answer.', code: 'content_filter', param: null };
  const diagnosis = { kind: 'content_filter', trouble: undefined } as const;
  return upstreamRefusal(400, 'invalid_request_error', said, { provider, diagnosis });
}
