// The discovered models in a heartbeat.
import { type HeartbeatBody, mostDiscovered } from '../../store/state/heartbeat-body.ts';
import type { Discovery } from './discovery.ts';

/** The first hundred; nothing when there are none. */
export function reportDiscovered(discovery: Pick<Discovery, 'known'>): Pick<HeartbeatBody, 'discovered_models'> {
  const known = discovery.known().slice(0, mostDiscovered);
  if (known.length === 0) return {};
  return { discovered_models: known.map(({ provider, count, atMs = null }) => [provider, count, atMs] as const) };
}
