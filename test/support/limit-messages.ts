// Messages of shared limits for tests: each with its usual values, and those that a case is about.
import {
  type AttachMessage,
  type ExchangeMessage,
  exchangeVersion,
  type LimitGroup,
  type LimitItem,
} from '../../domain/limits/exchange.ts';

export function attachMessage(instance: string, more: Partial<AttachMessage> = {}): AttachMessage {
  const own = { boot: `boot of ${instance}`, connection: 1, fresh: `store of ${instance}`, server: 'run 1', live: 0 };
  return { version: exchangeVersion, instance, ...own, ...more };
}

export function exchangeMessage(session: number, more: Partial<ExchangeMessage> = {}): ExchangeMessage {
  return { session, connection: 1, sequence: 1, beat: false, told: false, items: [], groups: [], ...more };
}

/** Of one minute and a cap of 100, with nothing to say. */
export function limitItem(key: string, more: Partial<LimitItem> = {}): LimitItem {
  return {
    key,
    period: 60,
    cap: 100,
    held: 0,
    spare: 0,
    uses: [],
    refunds: [],
    wish: 0,
    least: 4,
    dated: false,
    ...more,
  };
}

/** Requests that need one unit, or more, of each of the items. */
export function limitGroup(requests: number, items: readonly number[], units = 1, alone: 0 | 1 = 0): LimitGroup {
  return { requests, needs: items.map((item) => [item, units, 0, alone] as const) };
}
