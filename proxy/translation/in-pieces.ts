// A long text of a streamed answer as several, so that none takes long to write.
import type { StreamEvent } from '../dialects/conversation/stream-event.ts';

/** Of one piece. Characters. */
const pieceLength = 64 * 1024;

/** The event, or several events with the same content. Log probabilities go with the first piece. */
export function inPieces(event: StreamEvent): readonly StreamEvent[] {
  if (event.kind !== 'delta' || event.delta.kind !== 'text' || event.delta.text.length <= pieceLength) return [event];
  const { index, delta } = event;
  const { text } = delta;
  const pieces: StreamEvent[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + pieceLength);
    // Both halves of a character stay together.
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to += 1;
    const piece = text.slice(from, to);
    pieces.push({
      kind: 'delta',
      index,
      delta: from === 0 ? { ...delta, text: piece } : { kind: 'text', text: piece },
    });
    from = to;
  }
  return pieces;
}
