// What a cell is worth: pass, partial, safe or fail, and why.
import type { Cell, CellTarget } from './cells.ts';
import type { Heard } from './heard.ts';
import { type Grade, grades, type ToldError, usualMs } from './scenario.ts';

export interface Verdict {
  readonly grade: Grade;
  /** What was seen; empty: what should be. */
  readonly reason: string;
}

/** What a cell has shown. */
export interface Seen {
  readonly heard: Heard;
  /** Of each provider. */
  readonly calls: readonly number[];
  /** How much slower the machine is than one without other work. */
  readonly slowdown: number;
}

/**
 * pass: the whole answer, or, where no provider could give one, the right error, in time. partial: an answer that came late, or without a finish reason. safe: an honest
 * error although a provider could have answered. fail: anything wrong, or silent.
 */
export function judge(cell: Cell, seen: Seen): Verdict {
  const { heard, calls } = seen;
  const verdict = judgeHeard(cell, seen);
  const wanted = cell.scenario.calls ?? usualCalls(cell);
  if (verdict.grade !== 'pass' || calls.join() === wanted.join()) return verdict;
  return fail(`calls ${calls.join(', ')} instead of ${wanted.join(', ')}; status ${heard.status}`);
}

/** Whether it is worse than the scenario says. */
export function isBroken({ scenario: { no = {} }, form }: Cell, { grade }: Verdict): boolean {
  return grades.indexOf(grade) > grades.indexOf(no[form]?.grade ?? 'pass');
}

function usualCalls({ scenario: { plans } }: Cell): readonly number[] {
  return plans.map((plan) => (typeof plan === 'object' && 'unreached' in plan ? 0 : 1));
}

function judgeHeard(cell: Cell, { heard, calls, slowdown }: Seen): Verdict {
  const { sees, withinMs = usualMs } = cell.scenario;
  if (heard.oddity !== undefined) return fail(heard.oddity);
  const isLate = heard.ms > withinMs * Math.max(slowdown, 1);
  const late = `after ${Math.round(heard.ms)} ms`;
  if (typeof sees === 'object' && 'status' in sees) {
    const wrong = wrongError(sees, heard);
    if (wrong !== undefined) return fail(wrong);
    return isLate ? { grade: 'partial', reason: late } : pass;
  }
  if (heard.error !== undefined) return judgeError(heard, heard.error);
  if (sees === 'answer' && heard.finish === 'filtered')
    return { grade: 'safe', reason: `the client is told that content was filtered: ${heard.text}` };
  const wrong = sees === 'answer' ? wrongAnswer(cell, heard, calls) : wrongFinish(sees.finish, heard);
  if (wrong !== undefined) return fail(wrong);
  if (heard.finish === undefined) return { grade: 'partial', reason: 'the finish reason is missing' };
  return isLate ? { grade: 'partial', reason: late } : pass;
}

const pass: Verdict = { grade: 'pass', reason: '' };
const fail = (reason: string): Verdict => ({ grade: 'fail', reason });

/** An error although a provider could have answered. */
function judgeError({ status, text }: Heard, { code, message }: NonNullable<Heard['error']>): Verdict {
  const said = `${code ?? 'no code'}: ${message.slice(0, 120)}`;
  if (status === 200) return { grade: 'safe', reason: `a part of ${text.length} characters, then the error ${said}` };
  return { grade: 'safe', reason: `${status} ${said}` };
}

function wrongError({ status, code, retryAfter }: ToldError, heard: Heard): string | undefined {
  const { error } = heard;
  const said = `${heard.status} ${error?.code ?? 'no code'}: ${error?.message.slice(0, 120) ?? heard.text}`;
  if (heard.status !== status || error === undefined) return `${said} instead of ${status}`;
  if (code !== undefined && error.code !== code) return `${said} instead of the code ${code}`;
  if (retryAfter === undefined)
    return heard.retryAfter === undefined || status === 429 || status === 503
      ? undefined
      : `Retry-After: ${heard.retryAfter}, which nothing promises`;
  const [least, most] = retryAfter;
  const told = heard.retryAfter ?? Number.NaN;
  return told >= least && told <= most ? undefined : `Retry-After is ${told} instead of ${least} to ${most}`;
}

function wrongFinish(finish: string, heard: Heard): string | undefined {
  if (heard.finish === finish && heard.isEnded) return undefined;
  return `the finish is ${heard.finish ?? 'not told'} instead of ${finish}, with ${heard.text.length} characters`;
}

/** Why it is not the whole answer of one provider. */
function wrongAnswer(
  { targets, scenario }: Cell,
  { status, text, finish, usage, isEnded }: Heard,
  calls: readonly number[],
): string | undefined {
  if (status !== 200) return `status ${status} without an error`;
  const from = targets.filter((target) => saysOf(target, text));
  if (from.length > 1) return 'the answers of two providers are mixed';
  const [target] = from;
  if (target === undefined) return `an answer of no provider: ${text.slice(0, 80)}`;
  if (text !== target.answer.text) return `${text.length} of ${target.answer.text.length} characters, as if complete`;
  if (finish !== 'complete' && finish !== undefined) return `the finish is ${finish}`;
  if (!isEnded) return 'the last event is missing';
  const { input, output } = target.answer.usage;
  const [first, second] = targets;
  if (scenario.alias?.rescue !== undefined && calls[1] === 1) {
    // What the broken part has cost is estimated; what the other one reports is not.
    const least = second?.answer.usage ?? target.answer.usage;
    const more = target === first ? 1 : 0;
    const isSum = usage !== undefined && usage.input >= least.input + more && usage.output >= least.output + more;
    return isSum ? undefined : `usage ${usage?.input}, ${usage?.output} is not that of both`;
  }
  if (usage?.input === input && usage.output === output) return undefined;
  return `usage ${usage?.input}, ${usage?.output} instead of ${input}, ${output}`;
}

function saysOf({ answer }: CellTarget, text: string): boolean {
  const mark = answer.text.slice(0, answer.text.indexOf(':'));
  return text.includes(mark) || (text !== '' && answer.text.startsWith(text));
}
