// One probe of a provider: its list of models, or one token of a model.
import { randomUUID } from 'node:crypto';
import { Refusal } from '../errors.ts';
import type { ProbePlan, Snapshot, Upstream } from '../snapshot/snapshot.ts';
import type { ProbeOutcome } from '../tallies/known-probe.ts';
import { askModel } from '../trips/question/ask-model.ts';
import type { AuxiliaryParts, ServedRequest } from '../trips/question/question.ts';
import { readWhole } from '../upstream/read-whole.ts';

export interface Probed {
  readonly outcome: ProbeOutcome;
  /** The breaker of the model has counted a failure already, because it was asked as clients ask it. */
  readonly isNoted: boolean;
}

/** The longest list of models that is read. Bytes. */
const mostBytes = 4 * 1024 * 1024;
/** The codes of calls that did not come to an end. */
const broken: ReadonlySet<string | null> = new Set([
  'upstream_unavailable',
  'upstream_dns',
  'upstream_tls',
  'upstream_disconnected',
  'upstream_invalid_response',
  'upstream_timeout',
]);

/** Asks within the timeout of the plan. Never rejects. */
export function askProbe(
  upstream: Upstream,
  plan: ProbePlan,
  snapshot: Snapshot,
  gateway: AuxiliaryParts,
): Promise<Probed> {
  return plan.model === undefined
    ? askList(upstream, plan, gateway)
    : askOneToken(upstream, { ...plan, model: plan.model }, snapshot, gateway);
}

/** No rule counts it: see the questions of discovery. */
async function askList(
  upstream: Upstream,
  { timeoutMs }: ProbePlan,
  { pools, deadlines, nowMs }: Pick<AuxiliaryParts, 'pools' | 'deadlines' | 'nowMs'>,
): Promise<Probed> {
  const { modelList, credentials, patience } = upstream;
  if (modelList === undefined) return { outcome: 'unclear', isNoted: false };
  const key = credentials.pick(nowMs());
  const bounded = { ...patience, totalMs: Math.min(patience.totalMs, timeoutMs) };
  const question = { path: modelList.path, headers: key.headers, mostBytes };
  const answer = await readWhole(pools.get(upstream), question, bounded, deadlines);
  if (answer.failure !== undefined) return { outcome: 'down', isNoted: false };
  credentials.answered(key, answer.status, answer.head, nowMs());
  const outcome = answer.status < 300 ? 'up' : answer.status >= 500 ? 'down' : 'unclear';
  return { outcome, isNoted: false };
}

/** A call of the gateway itself: rules of provider and model count it, and it has a record. */
async function askOneToken(
  upstream: Upstream,
  { model, timeoutMs }: ProbePlan & { readonly model: string },
  snapshot: Snapshot,
  gateway: AuxiliaryParts,
): Promise<Probed> {
  const { name } = upstream;
  const body = { model: `${name}/${model}`, messages: [{ role: 'user', content: 'Hi' }], [boundOf(upstream)]: 1 };
  const question = { purpose: 'probes', name, operation: 'chat', body, timeoutMs } as const;
  try {
    await askModel(question, servedBy(snapshot, gateway), gateway);
    return { outcome: 'up', isNoted: false };
  } catch (error) {
    if (!(error instanceof Refusal)) return { outcome: 'unclear', isNoted: false };
    if (error.code === 'auxiliary_timeout') return { outcome: 'down', isNoted: false };
    const isDown =
      error.provider !== undefined && (broken.has(error.code) || (error.saidStatus ?? error.status) >= 500);
    return { outcome: isDown ? 'down' : 'unclear', isNoted: true };
  }
}

/** OpenAI's models that think know no `max_tokens`, and some servers of its format know nothing else. */
function boundOf({ type, origin }: Upstream): string {
  return type === 'azure' || origin === 'https://api.openai.com' ? 'max_completion_tokens' : 'max_tokens';
}

/** It serves no client: its caller is the gateway, at `/probes/<provider>`. */
function servedBy(snapshot: Snapshot, { nowMs }: Pick<AuxiliaryParts, 'nowMs'>): ServedRequest {
  const exchange = {
    request: { rawHeaders: [] },
    id: randomUUID(),
    startedAtMs: nowMs(),
    gone: false,
    waiting: undefined,
    caller: undefined,
    trace: undefined,
    clientAddress: '',
  };
  const principal = {
    kind: 'master_key',
    keyId: undefined,
    userPath: '/',
    shownPath: '/',
    allowedModels: undefined,
  } as const;
  return { exchange, principal, snapshot, call: undefined };
}
