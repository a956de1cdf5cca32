// Stops reading a connection. Node resumes a socket whenever a request of it is read: that is undone.
import type { Socket } from 'node:net';

/** Reads no more from the connection until the returned function is called. */
export function holdSocket(socket: Socket): () => void {
  const pause = (): void => void socket.pause();
  socket.on('resume', pause);
  socket.pause();
  return () => {
    socket.off('resume', pause);
    socket.resume();
  };
}
