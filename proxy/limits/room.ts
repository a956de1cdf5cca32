// Whether a rule has room for a request: as this proxy counts, or as the fleet does, where the state store may have to be asked first.
import type { LimitLane } from '../../domain/limits/exchange.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { FleetCounter } from './fleet/fleet-counter.ts';
import type { Stock } from './fleet/stock.ts';
import type { Need } from './fleet/waiting.ts';
import { hasTokenRoom, oneMayGo, wishOf } from './set-aside.ts';
import type { Caps, Counter } from './tally.ts';
import { requests, tokens } from './window.ts';

/** `asking`: the store has to be asked. `closed`: it is lost, and the rule admits nothing without it. */
export type Room = 'room' | 'none' | 'asking' | 'closed';

/** A request that comes so shortly before there is room waits for it, in milliseconds. */
const patientMs = 5;

/** One cap of a rule, and the units that a request needs under it. */
interface Lane {
  readonly lane: LimitLane;
  readonly cap: number;
  readonly units: number;
  /** It may go with less while no other request is open. */
  readonly mayGoAlone: boolean;
}

/** What a request asks of a rule. */
interface Asked {
  readonly wanted?: number;
  readonly isLast?: boolean;
}

/**
 * Whether a rule has room for a request that will probably take `wanted` tokens (0: some token must be left) at `nowMs` (Unix milliseconds).
 * Without a counter only a cap of 0 has none. `isLast`: the request has waited for the store as long as it may.
 */
export function roomOf(caps: Caps, counter: Counter | undefined, nowMs: number, asked: Asked = {}): Room {
  if (caps.isBlock) return 'none';
  if (counter === undefined) return caps.isShared ? 'asking' : 'room';
  const { wanted = 0 } = asked;
  if (counter.shared !== undefined)
    return sharedRoom(caps, counter, { lanes: lanesOf(caps, wanted), isLast: asked.isLast === true }, nowMs);
  return hasOwnRoom(caps, counter, nowMs, wanted) ? 'room' : 'none';
}

/** `roomOf` for the token cap alone. */
export function tokenRoom(caps: Caps, counter: Counter, nowMs: number, { wanted = 0, isLast = false }: Asked): Room {
  if (caps.isBlock) return 'none';
  if (counter.shared !== undefined) return sharedRoom(caps, counter, { lanes: tokenLane(caps, wanted), isLast }, nowMs);
  counter.window?.advance(nowMs);
  return hasTokenRoom(caps, counter, wanted) ? 'room' : 'none';
}

function sharedRoom(
  caps: Caps,
  counter: Counter,
  { lanes, isLast }: { readonly lanes: readonly Lane[]; readonly isLast: boolean },
  nowMs: number,
): Room {
  let worst: Room = 'room';
  if (counter.shared?.fleet.isLost === true) counter.shared.fleet.counts.withoutStore += 1;
  for (const lane of lanes) {
    const found = laneRoom(caps, counter, lane, nowMs);
    if (found === 'asking' && isLast) {
      counter.shared?.stock(lane.lane, nowMs).timeOut(lane.units, nowMs + patientMs);
      return 'none';
    }
    if (found === 'none') return 'none';
    if (found === 'closed' || worst === 'room') worst = found;
  }
  return worst;
}

function hasOwnRoom(caps: Caps, counter: Counter, nowMs: number, wanted: number): boolean {
  const { window } = counter;
  if (window === undefined) return counter.inFlight < caps.slotsCap;
  window.advance(nowMs);
  return window.requestsUsed < caps.requestsCap && hasTokenRoom(caps, counter, wanted);
}

/** The fleet that shares a rule; undefined: this proxy counts alone. */
export function fleetOf({ isShared, tally }: Pick<Caps, 'isShared' | 'tally'>): Fleet | undefined {
  return isShared ? tally.unsaved.fleet : undefined;
}

/** The lanes that a rule limits. */
export function lanesOf(caps: Caps, wanted: number): Lane[] {
  const { requestsCap, tokensCap, slotsCap } = caps;
  const lanes: Lane[] = [];
  const one = { units: 1, mayGoAlone: false };
  if (slotsCap !== Number.POSITIVE_INFINITY) lanes.push({ lane: 'slots', cap: slotsCap, ...one });
  if (requestsCap !== Number.POSITIVE_INFINITY) lanes.push({ lane: 'requests', cap: requestsCap, ...one });
  if (tokensCap !== Number.POSITIVE_INFINITY)
    lanes.push({
      lane: 'tokens',
      cap: tokensCap,
      units: wishOf(caps, wanted),
      // One unit is the least: with less there is no room for anybody.
      mayGoAlone: wanted > 1 && oneMayGo(caps, wanted),
    });
  return lanes;
}

/** Whether one lane of a shared counter has room. */
export function laneRoom(caps: Caps, counter: Counter, lane: Lane, nowMs: number): Room {
  const shared = counter.shared as FleetCounter;
  const { fleet } = shared;
  const stock = shared.stock(lane.lane, nowMs);
  if (stock.cap !== lane.cap) fleet.setCap(stock, lane.cap);
  if (fleet.isValid(nowMs) && (stock.units >= lane.units || (lane.mayGoAlone && isAloneAt(stock)))) return 'room';
  if (stock.dryUntilMs - patientMs > nowMs && lane.units >= stock.dryUnits) return 'none';
  return fleet.isLost ? roomWithoutStore(caps, counter, lane, nowMs) : 'asking';
}

function isAloneAt(stock: Stock): boolean {
  return stock.isAlone && stock.units > 0 && stock.inUse === 0;
}

/** The store is lost: the rule says what holds. */
function roomWithoutStore(caps: Caps, counter: Counter, { lane, units, mayGoAlone }: Lane, nowMs: number): Room {
  if (caps.onStoreLoss === 'closed') return 'closed';
  // One may go with less than it wants, as with the store.
  const needed = mayGoAlone && counter.reservers === 0 ? 1 : units;
  return needed <= leftWithoutStore(caps, counter, lane, nowMs) ? 'room' : 'none';
}

/** What of a cap this proxy admits while the store is lost, beside what it has used, set aside and in flight; below 0: it has more. */
export function leftWithoutStore(caps: Caps, counter: Counter, lane: LimitLane, nowMs: number): number {
  if (caps.onStoreLoss === 'closed') {
    const held = counter.shared?.fleet.isValid(nowMs) === true ? counter.shared.known(lane) : undefined;
    return held?.units ?? 0;
  }
  const { requestsCap, tokensCap, slotsCap } = caps;
  if (lane === 'slots') return capWithoutStore(caps, counter, slotsCap) - counter.inFlight;
  const used = counter.window?.used(lane === 'tokens' ? tokens : requests, nowMs) ?? 0;
  if (lane === 'requests') return capWithoutStore(caps, counter, requestsCap) - used;
  return capWithoutStore(caps, counter, tokensCap) - used - counter.reserved;
}

/** Whether it is not known if a rule has room, because the store is lost and the rule admits nothing without it. Counts no decision. */
export function isClosed(caps: Caps, counter: Counter | undefined, nowMs: number, wanted: number): boolean {
  if (fleetOf(caps)?.isLost !== true || caps.onStoreLoss !== 'closed') return false;
  return (
    counter === undefined || lanesOf(caps, wanted).some((lane) => laneRoom(caps, counter, lane, nowMs) === 'closed')
  );
}

/** The part of a cap that this proxy may use while the store is lost. */
export function capWithoutStore({ onStoreLoss }: Caps, counter: Counter, cap: number): number {
  return onStoreLoss === 'open' ? cap : (counter.shared?.fleet.share(cap) ?? cap);
}

function tokenLane(caps: Caps, wanted: number): Lane[] {
  return lanesOf(caps, wanted).filter(({ lane }) => lane === 'tokens');
}

/** `needsOf` for token caps alone. */
export function tokenNeeds(matched: Counters, wanted: number, nowMs: number): Need[] {
  return needsOf(matched, wanted, nowMs).filter(({ stock }) => stock.of.lane === 'tokens');
}

type Counters = readonly { readonly caps: Caps; readonly counter: Counter | undefined }[];

/** What a request needs of the counters whose rules have to be asked about, and of those that have room now. */
export function needsOf(matched: Counters, wanted: number, nowMs: number): Need[] {
  const needs: Need[] = [];
  for (const { caps, counter } of matched) {
    const shared = counter?.shared;
    if (shared === undefined || caps.shadow) continue;
    for (const { lane, cap, units, mayGoAlone } of lanesOf(caps, wanted)) {
      const stock = shared.stock(lane, nowMs);
      if (stock.cap !== cap) shared.fleet.setCap(stock, cap);
      needs.push({ stock, units, alone: mayGoAlone });
    }
  }
  return needs;
}
