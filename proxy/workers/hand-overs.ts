// Connections on their way to a worker. node:cluster waits for the worker's word that it has taken one, and even for that of a worker that has
// died: its client would wait for ever. Such a connection goes to another worker, as if the dead one had refused it.
import type { ChildProcess } from 'node:child_process';

/** How node:cluster says that a connection is handed over, and what comes of it. */
interface ClusterMessage {
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

/** What a worker has said before its end is read by then. Milliseconds. */
const readMs = 50;

/** Follows the hand-overs to this worker. To be called before the first one. */
export function followHandOvers(worker: ChildProcess): void {
  const open = new Set<unknown>();
  const send = worker.send.bind(worker) as (...given: readonly unknown[]) => boolean;
  let isDisconnected = false;
  worker.send = (...given: readonly unknown[]): boolean => {
    const { act, seq } = (given[0] ?? {}) as ClusterMessage;
    if (act === 'newconn' && given[1] !== undefined) open.add(seq);
    return send(...given);
  };
  worker.on('internalMessage', ({ ack }: ClusterMessage) => void open.delete(ack));
  worker.once('disconnect', () => {
    isDisconnected = true;
  });
  const release = (): void => {
    // Node never says so while a connection is on its way; and until then, the dead worker would be offered more.
    if (!isDisconnected) worker.emit('disconnect');
    for (const ack of open) worker.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false });
    open.clear();
  };
  worker.once('exit', () => setTimeout(release, readMs));
}
