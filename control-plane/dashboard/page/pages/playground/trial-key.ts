// The key of the playground: in the memory of this window alone, and gone when the session ends.
import { Cell } from '../../cell.ts';
import { write } from '../../parts/writes.ts';
import { session } from '../../session-state.ts';
import { type IssuedKey, keysPath } from '../keys/key.ts';

export interface TrialKey {
  readonly value: string;
  /** Of a key that was made here. */
  readonly issued?: Pick<IssuedKey, 'id' | 'name' | 'user_path' | 'expires_at'>;
}

const none: TrialKey = { value: '' };

export const trialKey = new Cell<TrialKey>(none);

session.watch(({ standing }) => {
  if (standing !== 'in') trialKey.set(none);
});

export function typeKey(value: string): void {
  trialKey.set({ value });
}

/** A managed key of an hour for a user path; empty: the root. Rejects with `ApiError`. */
export async function issueTrialKey(userPath: string, whose: string): Promise<void> {
  const path = userPath.trim();
  const body = {
    name: `Playground of ${whose}`,
    expires_in: '1h',
    ...(path === '' || path === '/' ? {} : { user_path: path }),
  };
  const issued = await write<IssuedKey>('Key of the playground: created', keysPath, { method: 'POST', body });
  const { value, id, name, user_path, expires_at } = issued;
  const known = {
    id,
    name,
    ...(user_path === undefined ? {} : { user_path }),
    ...(expires_at === undefined ? {} : { expires_at }),
  };
  trialKey.set({ value, issued: known });
}

/** A key that was made here is revoked, too. */
export async function forgetKey(): Promise<void> {
  const { issued } = trialKey.value;
  trialKey.set(none);
  if (issued === undefined) return;
  await write('Key of the playground: deleted', `${keysPath}/${encodeURIComponent(issued.id)}`, { method: 'DELETE' });
}
