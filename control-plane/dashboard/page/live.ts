// The live stream of audit entries: one connection, whoever listens. It rests while the window is hidden, and goes on where it was.
import { useEffect, useRef } from 'preact/hooks';
import { findSession } from './session.ts';

/** The callbacks of a listener. `reset`: entries were left out, so lists have to be read again. */
export interface LiveListener<Entry> {
  readonly entry: (entry: Entry) => void;
  /** Entries come from here on. */
  readonly ready?: () => void;
  readonly reset?: () => void;
}

const listeners = new Set<LiveListener<never>>();
const pauseMs = 3_000;
let source: EventSource | undefined;
let cursor = '';
let timer: ReturnType<typeof setTimeout> | undefined;

/** Hears of entries for as long as the component is drawn and `isOn`. */
export function useLive<Entry>(listener: LiveListener<Entry>, isOn: boolean): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    if (!isOn) return undefined;
    const mine: LiveListener<Entry> = {
      entry: (entry) => latest.current.entry(entry),
      ready: () => latest.current.ready?.(),
      reset: () => latest.current.reset?.(),
    };
    listeners.add(mine);
    if (listeners.size === 1) document.addEventListener('visibilitychange', follow);
    follow();
    return () => {
      listeners.delete(mine);
      if (listeners.size > 0) return;
      document.removeEventListener('visibilitychange', follow);
      cursor = '';
      follow();
    };
  }, [isOn]);
}

/** Opens or closes the stream as it is needed. */
function follow(): void {
  const isNeeded = listeners.size > 0 && !document.hidden;
  clearTimeout(timer);
  if (!isNeeded) {
    source?.close();
    source = undefined;
  } else if (source === undefined) source = open();
}

function open(): EventSource {
  const opened = new EventSource(cursor === '' ? '/admin/live' : `/admin/live?cursor=${cursor}`);
  const note = ({ lastEventId }: MessageEvent): void => {
    if (lastEventId !== '') cursor = lastEventId;
  };
  opened.addEventListener('ready', (event: MessageEvent<string>) => {
    note(event);
    for (const listener of listeners) listener.ready?.();
  });
  opened.addEventListener('entry', (event: MessageEvent<string>) => {
    note(event);
    const entry = JSON.parse(event.data) as never;
    for (const listener of listeners) listener.entry(entry);
  });
  opened.addEventListener('reset', (event: MessageEvent<string>) => {
    note(event);
    for (const listener of listeners) listener.reset?.();
  });
  opened.addEventListener('error', () => {
    // The browser connects again by itself, unless it was refused: then the session may be over.
    if (opened.readyState !== EventSource.CLOSED) return;
    source = undefined;
    findSession().catch(() => undefined);
    clearTimeout(timer);
    timer = setTimeout(follow, pauseMs);
  });
  return opened;
}
