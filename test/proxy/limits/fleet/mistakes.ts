// Mistakes made on purpose, each in one place of the source: random worlds of the kind that is named must find them.
import type { Kind } from './story.ts';

export interface Mistake {
  readonly name: string;
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** `clocks`: the bounds of the store's time alone. */
  readonly kinds: readonly (Kind | 'clocks')[];
  /** Where a short run begins: not long before a world that finds it. Default 1. */
  readonly seed?: number;
}

const counter = 'store/state/limits/counter.ts';
const book = 'store/state/limits/book.ts';
const exchanging = 'store/state/limits/exchanging.ts';
const fleet = 'proxy/limits/fleet/fleet.ts';
const stock = 'proxy/limits/fleet/stock.ts';
const storeTime = 'proxy/limits/fleet/store-time.ts';
const tellAgain = 'proxy/limits/fleet/tell-again.ts';
const session = 'proxy/limits/fleet/session.ts';
const waiting = 'proxy/limits/fleet/waiting.ts';

export const mistakes: readonly Mistake[] = [
  {
    name: 'a ring of 60 slices',
    file: counter,
    before: 'if (slice > counter.head - sliceCount) continue;',
    after: 'if (slice > counter.head - sliceCount + 1) continue;',
    kinds: ['mixed'],
  },
  {
    name: 'the slice of a use by the time of the answer',
    file: storeTime,
    before: 'offsetMs: storeMs + 1 - sentMs',
    after: 'offsetMs: storeMs + 1 - answeredMs',
    kinds: ['refunds', 'cuts'],
  },
  {
    name: 'the upper bound without the milliseconds that both clocks cut',
    file: storeTime,
    before: 'Math.ceil(nowMs + 1 + offsetMs + drift * Math.abs(nowMs - atMs))',
    after: 'Math.floor(nowMs - 1 + offsetMs + drift * Math.abs(nowMs - atMs))',
    kinds: ['clocks'],
  },
  {
    name: 'the lower bound without the milliseconds that both clocks cut',
    file: storeTime,
    before: 'storeMs - answeredMs - 1',
    after: 'storeMs - answeredMs + 1',
    kinds: ['clocks'],
  },
  {
    name: 'the lower bound by the time of the message',
    file: storeTime,
    before: 'storeMs - answeredMs - 1',
    after: 'storeMs - sentMs',
    kinds: ['refunds'],
    seed: 9,
  },
  {
    name: 'a refund from the newest slice',
    file: counter,
    before: 'for (let slice = low; slice <= last && left > 0; slice += 1)',
    after: 'for (let slice = last; slice >= low && left > 0; slice -= 1)',
    kinds: ['refunds'],
  },
  {
    name: 'a refund that cancels another use of its slice',
    file: fleet,
    before: 'const isUntold = exchange === this.#session.sequence;',
    after: 'const isUntold = exchange >= 0;',
    kinds: ['refunds'],
    seed: 307,
  },
  {
    name: 'held units that may be used without a deadline',
    file: fleet,
    before: 'return nowMs < this.#validUntilMs;',
    after: 'return nowMs > 0;',
    kinds: ['silent'],
    seed: 38,
  },
  {
    name: 'dead sessions that are not charged',
    file: counter,
    before: 'if (counter.period !== 0) use(counter, sliceAt(usedMs, counter.period), units);',
    after: '',
    kinds: ['deaths'],
  },
  {
    name: 'dead sessions that are charged at their last contact',
    file: book,
    before: 'Math.min(meta.lastMs, contactMs + usableMs)',
    after: 'contactMs',
    kinds: ['deaths'],
  },
  {
    name: 'uses of a lost exchange that are forgotten',
    file: tellAgain,
    before: 'for (const { stock, covered, uncovered, refunds } of lost.underWay) {',
    after: 'for (const { stock, covered, uncovered, refunds } of [] as typeof lost.underWay) {',
    kinds: ['cuts'],
  },
  {
    name: 'uses of a lost exchange that are told twice',
    file: session,
    before: 'underWay !== undefined && isLost(underWay) ? underWay.told : []',
    after: 'underWay?.told ?? []',
    kinds: ['cuts'],
  },
  {
    name: 'a clock of the store that may step back',
    file: book,
    before: 'if (clockMs + meta.offsetMs < meta.lastMs) meta.offsetMs = meta.lastMs - clockMs;',
    after: '',
    kinds: ['steps'],
  },
  {
    name: 'what a store has lost is not told again',
    file: tellAgain,
    before: 'for (const { stock, covered, uncovered, refunds } of lost.answered)',
    after: 'for (const { stock, covered, uncovered, refunds } of [] as typeof lost.answered)',
    kinds: ['loss'],
  },
  {
    name: 'what was applied is forgotten at a new connection',
    file: session,
    before: "former === 'known' ? applying.filter((exchange) => !isLost(exchange)) : []",
    after: '[]',
    kinds: ['loss'],
    seed: 106,
  },
  {
    name: 'what an empty store never knew is not told',
    file: fleet,
    before: 'else if (isNewStore || isOpen) tellAll(',
    after: 'else if (isNewStore && isOpen && this.#live < 0) tellAll(',
    kinds: ['loss'],
  },
  {
    name: 'grants while the store recovers',
    file: book,
    before: 'if (!recovering) work.grant();',
    after: 'work.grant();',
    kinds: ['loss'],
  },
  {
    name: 'what is held counts as free',
    file: exchanging,
    before: 'return item.cap - counter.used - counter.held;',
    after: 'return item.cap - counter.used;',
    kinds: ['calm'],
  },
  {
    name: 'sessions that are buried behind two seconds',
    file: book,
    before: 'export const burialMs = 10_000;',
    after: 'export const burialMs = 2_000;',
    kinds: ['slots'],
    seed: 5,
  },
  {
    name: 'commands of a former connection that still count',
    file: book,
    before: 'if (session.connection !== message.connection || message',
    after: 'if (message',
    kinds: ['cuts'],
    seed: 38,
  },
  {
    name: 'a request that takes from a rule that has not granted it anything',
    file: 'proxy/limits/admit.ts',
    before: 'mustAsk ||= !match.caps.shadow;',
    after: 'mustAsk = !match.caps.shadow && matched.length === 1;',
    kinds: ['calm', 'mixed'],
  },
  {
    name: 'slots of open requests that are not held',
    file: stock,
    before: 'const held = this.units + this.inUse;',
    after: 'const held = this.units;',
    kinds: ['slots'],
  },
  {
    name: 'slots that are never released',
    file: stock,
    before: 'this.inUse -= units;',
    after: '',
    kinds: ['slots'],
  },
  {
    name: 'idle units that are never given back',
    file: stock,
    before: 'return this.isOver || this.isRecalled || nowMs - this.#usedAtMs > restMs;',
    after: 'return this.isOver || this.isRecalled || nowMs < restMs;',
    kinds: ['calm'],
  },
  {
    name: 'requests that wait too long',
    file: waiting,
    before: 'this.#waiting.some(({ untilMs }) => untilMs <= nowMs)',
    after: 'this.#waiting.some(({ untilMs }) => untilMs <= nowMs - 50)',
    kinds: ['silent'],
  },
  {
    name: 'others that are never asked to give back',
    file: exchanging,
    before: "tell({ kind: 'return', key: item.key });",
    after: '',
    kinds: ['calm'],
    seed: 11,
  },
  {
    name: 'the whole cap as the share of each',
    file: fleet,
    before: 'return Math.floor(cap / this.#live) + (this.#rank < cap % this.#live ? 1 : 0);',
    after: 'return cap;',
    kinds: ['share'],
  },
  {
    name: 'the moment at which there is room told a second early',
    file: counter,
    before: 'return Math.max(1, sliceStartMs(slice + sliceCount, counter.period) - nowMs);',
    after: 'return Math.max(1, sliceStartMs(slice + sliceCount, counter.period) - nowMs - 1_000);',
    kinds: ['calm'],
    seed: 8,
  },
];
