// Members of chat messages whose texts are read one by one; all others are looked at as they are.

/** Thoughts in words. */
export const thoughts: readonly string[] = ['reasoning_content', 'reasoning'];

/**
 * Members of a message that the gateway reads. Those beside thoughts (`reasoning_details`, `extra_content`) may be
 * signed.
 */
export const knownOfMessage: ReadonlySet<string> = new Set([
  ...thoughts,
  'content',
  'refusal',
  'tool_calls',
  'function_call',
  'reasoning_details',
  'extra_content',
]);

/** Members of an answer, and of a chunk, beside what it says. `obfuscation` is random. */
export const knownOfAnswer: ReadonlySet<string> = new Set([
  'choices',
  'usage',
  'system_fingerprint',
  'service_tier',
  'obfuscation',
]);
