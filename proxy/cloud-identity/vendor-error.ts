// What went wrong at a vendor, in words that may be shown: its packages put answers into their errors, and an answer may repeat a secret.

const mostWords = 300;
/** Keys, tokens and their parts. Ids and names of accounts are shorter, or have the form of a UUID. */
const longRuns = /[A-Za-z0-9+/_=.~-]{80,}|[A-Za-z0-9+_=~-]{32,}/g;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Microsoft puts ids of the question into its errors. */
const idsOfQuestion =
  /\s*(?:- )?(?:Trace ID|Correlation ID|Timestamp|Error\(s\)): (?:Not Available|[\w:.-]*(?: [\d:]+Z)?)/g;

/** A problem whose message says what to do and holds no secret: it is passed on as it is. */
export class IdentityProblem extends Error {}

/** What of an error may be shown: its message without secrets, and the code of the network where the message says nothing. */
export function shownWords(error: unknown, secrets: readonly string[] = []): string {
  const parts = messagesOf(error);
  let words = parts.join(': ').replace(idsOfQuestion, '');
  for (const secret of secrets) if (secret.length > 0) words = words.replaceAll(secret, '…');
  words = words
    .replace(longRuns, (run) => (uuid.test(run) ? run : '…'))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return words.length <= mostWords ? words : `${words.slice(0, mostWords)}…`;
}

/** The messages of an error and its causes, from the outside in; of a cause that the network has a code for, only the code. */
function messagesOf(error: unknown): string[] {
  const parts: string[] = [];
  let at = error;
  for (let depth = 0; depth < 4 && at instanceof Error; depth += 1) {
    const { code, cause } = at as Error & { readonly code?: unknown };
    const part = depth > 0 && typeof code === 'string' && /^[A-Z][A-Z_]+$/.test(code) ? code : at.message;
    if (part !== '' && !parts.some((known) => known.includes(part))) parts.push(part);
    at = cause;
  }
  return parts.length === 0 ? ['it failed without a reason'] : parts;
}
