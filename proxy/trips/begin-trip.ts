// Which requests begin a trip to a provider, and which kind of trip: model endpoints, doors of opaque calls, and signalling of sessions.
import { type ModelEndpoint, modelEndpoints } from '../endpoints/model-endpoints.ts';
import type { Exchange } from '../http/exchange.ts';
import { doorOf } from '../opaque/doors.ts';
import { type SignallingDoor, signallingDoors } from '../realtime/doors.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type ModelParts, ModelTrip, modelKind } from './model.ts';
import { type OpaqueParts, OpaqueTrip, opaqueKind } from './opaque.ts';
import { travel } from './pipeline.ts';
import { type SignallingParts, SignallingTrip, signallingKind } from './signalling.ts';

/** By path; all are asked with POST. */
const modelsAt: ReadonlyMap<string, ModelEndpoint> = new Map(
  modelEndpoints.map((endpoint) => [endpoint.path, endpoint]),
);
const signallingAt: ReadonlyMap<string, SignallingDoor> = new Map(signallingDoors.map((door) => [door.path, door]));

/** Begins the trip of a request. It answers by itself, whatever happens, and is counted when it is settled. False: the request is none. */
export type BeginTrip = (exchange: Exchange, path: string) => boolean;

/** The parts that all kinds of trips need. */
export type TripParts = ModelParts &
  OpaqueParts &
  SignallingParts & {
    /** The snapshot in force. */
    readonly current: () => Snapshot;
  };

/**
 * Returns the function that begins the trip of a request; it returns false for a path without an endpoint. A failed
 * trip is answered, never thrown.
 */
export function createTrips(parts: TripParts): BeginTrip {
  const ofModel = modelKind(parts);
  const ofOpaque = opaqueKind(parts);
  const ofSignalling = signallingKind(parts);
  return (exchange, path) => {
    const { method } = exchange.request;
    const isPost = method === 'POST';
    const endpoint = isPost ? modelsAt.get(path) : undefined;
    if (endpoint !== undefined) {
      void travel(new ModelTrip(endpoint, exchange, parts.current(), parts), ofModel, parts);
      return true;
    }
    const door = doorOf(method, path);
    if (door !== undefined) {
      void travel(new OpaqueTrip(door, exchange, parts.current(), parts.deadlines), ofOpaque, parts);
      return true;
    }
    const signalling = isPost ? signallingAt.get(path) : undefined;
    if (signalling === undefined) return false;
    void travel(new SignallingTrip(signalling, exchange, parts.current()), ofSignalling, parts);
    return true;
  };
}
