// The doors of the realtime API: sessions, and what sessions begin with that are held elsewhere.
import type { Target } from '../snapshot/snapshot.ts';

/** Where a WebSocket is opened. */
export const sessionPath = '/v1/realtime';

export interface SignallingDoor {
  readonly path: string;
  /** Below the path of realtime at a provider. */
  readonly below: string;
  /** It takes and gives descriptions of calls (SDP) besides JSON. */
  readonly takesSdp: boolean;
}

/** All are asked with POST. */
export const signallingDoors: readonly SignallingDoor[] = [
  { path: '/v1/realtime/client_secrets', below: '/client_secrets', takesSdp: false },
  { path: '/v1/realtime/calls', below: '/calls', takesSdp: true },
];

/** Whether a target can be asked for realtime. */
export function hasRealtime({ speeches }: Target): boolean {
  return speeches.realtime !== undefined;
}
