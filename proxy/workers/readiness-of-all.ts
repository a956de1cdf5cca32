// The readiness that one door of a proxy with several workers answers with: it speaks for all of them.
import type { Readiness } from '../readiness.ts';
import type { WorkerView } from './messages.ts';

const serves = ({ status }: Readiness): boolean => status === 'ready' || status === 'degraded';

/** `own`: of the worker that answers. While one of them serves, the proxy does: degraded, when another one is missing or overloaded. */
export function readinessOfAll(own: Readiness, others: readonly Pick<WorkerView, 'readiness'>[]): Readiness {
  // All drain together.
  if (others.length === 0 || own.status === 'draining' || own.status === 'starting') return own;
  const known = [own, ...others.flatMap(({ readiness }) => readiness ?? [])];
  if (!known.some(serves)) return own;
  const reasons = new Set(known.filter(serves).flatMap(({ reasons: each }) => each));
  if (known.length <= others.length || known.some(({ status }) => status === 'starting')) reasons.add('worker_missing');
  if (known.some(({ status }) => status === 'overloaded')) reasons.add('worker_overloaded');
  return { status: reasons.size === 0 ? 'ready' : 'degraded', reasons: [...reasons] };
}
