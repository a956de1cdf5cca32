// What the next process of this instance has to know of the limits that it shares: to which store all was told, and among how many proxies.
import { keepCopy, recallCopy } from '../../store/checksummed-file.ts';
import { singleFlight } from '../../store/single-flight.ts';

export interface KeptSession {
  /** The generation of the store to which all was told. */
  readonly generation?: string;
  /** How many proxies shared the limits. */
  readonly live: number;
}

/** Undefined: there is none that can be trusted. Then all is told again. Never throws. */
export async function recallSession(path: string): Promise<KeptSession | undefined> {
  const { content } = await recallCopy(path);
  if (content === undefined) return undefined;
  const { generation, live } = JSON.parse(content) as Partial<Record<keyof KeptSession, unknown>>;
  if (!Number.isSafeInteger(live) || (live as number) < 1) return undefined;
  return { live: live as number, ...(typeof generation === 'string' ? { generation } : {}) };
}

/** Gives a function that replaces the file; what cannot be written is told to the store again at the next start. */
export function sessionKeeper(path: string): (session: KeptSession) => void {
  let newest: KeptSession | undefined;
  const saving = singleFlight(async () => {
    if (newest !== undefined) await keepCopy(path, JSON.stringify(newest));
  });
  return (session) => {
    newest = session;
    void saving.next();
  };
}
