// Decides whether this plane is ready or degraded. A degraded plane still serves operators.
import type { ConfigPin } from '../domain/config-pins/config-pin.ts';
import type { FollowStatus } from '../gitops/follow/config-status.ts';
import { formatProblem } from '../gitops/read/problem.ts';
import { givenReasons } from '../plane/given-reasons.ts';
import { isEmptied } from '../store/state/custody.ts';
import type { StateStatus } from '../store/state/state-status.ts';
import type { DrainTrouble } from './records/drain-journal.ts';

export interface Readiness {
  readonly status: 'ready' | 'degraded';
  /** Why it is degraded; empty when ready. */
  readonly reasons: readonly string[];
  /** The cause of a reason in words, where more is known. For operators: it may name hosts and files. */
  readonly causes?: Readonly<Record<string, string>>;
}

export interface ReadinessFacts {
  readonly config: FollowStatus | undefined;
  /** The pin of an operator. */
  readonly pin: ConfigPin | undefined;
  readonly state: StateStatus;
  /** Why the store did not take the last write of this plane; undefined: it did. */
  readonly writeTrouble: string | undefined;
  /** Files of the gateway's own secrets that do not hold what is in force. */
  readonly secretProblems: readonly string[];
  /** Why records cannot be stored; undefined: they can. */
  readonly recordTrouble: DrainTrouble | undefined;
  /** Why the disk of GATEWAY_DATA takes no records; undefined: it does. */
  readonly diskTrouble: string | undefined;
  /** See `warnOfNewFile`. */
  readonly areRecordsBegunAnew: boolean;
  /** The live proxies that reject the configuration on their disk. */
  readonly rejectingProxies: readonly string[];
}

export function readinessOf(facts: ReadinessFacts): Readiness {
  const { config, state, writeTrouble, secretProblems, recordTrouble, areRecordsBegunAnew, rejectingProxies } = facts;
  const { diskTrouble } = facts;
  const { isUp, standing, skipped, evicts } = state;
  const storeTrouble = isUp ? writeTrouble : (state.trouble ?? 'it does not answer');
  const isRejectedElsewhere = config?.lastReloadSuccessful !== false && rejectingProxies.length > 0;
  const found: readonly (readonly [isSo: boolean, reason: string, cause?: string | undefined])[] = [
    [storeTrouble !== undefined, 'state_store_unavailable', storeTrouble],
    ...givenReasons(config?.given).map((reason) => [true, reason, givenCause(facts)] as const),
    [config?.source === 'last-good', 'config_last_good'],
    [config?.lastReloadSuccessful === false, 'config_rejected', config && rejectedWords(config)],
    [isRejectedElsewhere, 'config_rejected_by_proxy', `rejected by ${rejectingProxies.join(', ')}`],
    [secretProblems.length > 0, 'secret_file_unusable', secretProblems[0]],
    [isEmptied(standing), 'state_store_emptied'],
    [standing === 'behind', 'state_store_behind'],
    [evicts !== undefined, 'state_store_evicts', evicts],
    [diskTrouble !== undefined, 'disk_full', diskTrouble],
    [recordTrouble?.of === 'store', 'record_store_unavailable', recordTrouble?.reason],
    // Journals lie in Redis, too: that it is down is told above.
    [recordTrouble?.of === 'journal' && storeTrouble === undefined, 'journal_unreadable', recordTrouble?.reason],
    [areRecordsBegunAnew, 'records_begun_anew'],
    [skipped.unsealed > 0, 'state_documents_unsealed'],
  ];
  const held = found.filter(([isSo]) => isSo);
  return {
    status: held.length === 0 ? 'ready' : 'degraded',
    reasons: held.map(([, reason]) => reason),
    causes: Object.fromEntries(held.flatMap(([, reason, cause]) => (cause === undefined ? [] : [[reason, cause]]))),
  };
}

/** Who has pinned it until when and why, or why it cannot be used. */
function givenCause({ config, pin }: ReadinessFacts): string | undefined {
  const [problem] = config?.given?.problems ?? [];
  if (problem !== undefined) return formatProblem(problem);
  return pin && `revision ${pin.revision} until ${pin.expiresAt}, by ${pin.updatedBy}: ${pin.reason}`;
}

function rejectedWords({ revision, rejected, problems: [first, ...others] }: FollowStatus): string {
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  const what = first === undefined ? '' : `: ${formatProblem(first)}${more}`;
  return `revision ${rejected?.revision ?? ''} is rejected and ${revision} stays in force${what}`;
}
