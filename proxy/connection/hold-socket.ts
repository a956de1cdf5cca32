// Stops reading a connection for good. Node resumes a socket whenever a request of it is read: that is undone.
import type { Socket } from 'node:net';

/** Reads no more from the connection until the answer is called. */
export function holdSocket(socket: Socket): () => void {
  const pause = (): void => void socket.pause();
  socket.on('resume', pause);
  socket.pause();
  return () => {
    socket.off('resume', pause);
    socket.resume();
  };
}
