// The input file of a batch: JSON lines, each a call with a name of its own.

import { type Body, isObject } from '../requests.ts';
import { mostRequests } from './batch-queue.ts';

export type Line = { readonly customId: string; readonly body: Body };

/** A mistake in a line, as the record of a failed batch shows it. */
type Problem = {
  readonly code: string;
  readonly line: number;
  readonly message: string;
  readonly param: string | null;
};

const mostProblems = 20;
const newline = 0x0a;

/** The calls of a file, or what is wrong with them. */
export function readLines(content: Buffer, endpoint: string): { lines: Line[] } | { problems: Problem[] } {
  const lines: Line[] = [];
  const problems: Problem[] = [];
  const known = new Set<string>();
  let number = 0;
  for (const text of textsIn(content)) {
    number += 1;
    if (text.trim() === '') continue;
    const read = readLine(text, endpoint, known);
    if ('customId' in read) lines.push(read);
    else problems.push({ ...read, line: number });
    if (problems.length >= mostProblems) break;
    if (lines.length <= mostRequests) continue;
    const message = `The demo provider takes at most ${mostRequests} requests in a batch.`;
    return { problems: [{ code: 'too_many_tasks', line: number, message, param: null }] };
  }
  if (lines.length === 0 && problems.length === 0) {
    return { problems: [{ code: 'empty_file', line: 1, message: 'The file has no requests.', param: null }] };
  }
  return problems.length > 0 ? { problems } : { lines };
}

/** The lines one by one: a file may have millions of empty ones. */
function* textsIn(content: Buffer): Generator<string> {
  let from = 0;
  for (let at = content.indexOf(newline); at >= 0; at = content.indexOf(newline, from)) {
    yield content.toString('utf8', from, at);
    from = at + 1;
  }
  yield content.toString('utf8', from);
}

function readLine(text: string, endpoint: string, known: Set<string>): Line | Omit<Problem, 'line'> {
  const line = parse(text);
  if (line === undefined) {
    return { code: 'invalid_json_line', message: 'This line is not parseable as valid JSON.', param: null };
  }
  const { custom_id: customId, method, url, body } = line;
  const wrong = (param: string, message: string, code = 'invalid_value') => ({ code, message, param });
  if (typeof customId !== 'string' || customId === '')
    return wrong('custom_id', 'It must be a text that is not empty.');
  if (known.has(customId)) return wrong('custom_id', 'It is used already.', 'duplicate_custom_id');
  known.add(customId);
  if (method !== 'POST') return wrong('method', "It must be 'POST'.", 'invalid_method');
  if (url !== endpoint) return wrong('url', `It must be the endpoint of the batch, '${endpoint}'.`, 'mismatched_url');
  return isObject(body) ? { customId, body } : wrong('body', 'It must be an object.');
}

function parse(text: string): Body | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
