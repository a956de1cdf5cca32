// A managed key of a test, which the proxy of a gateway knows.
import { type AuthKeyFields, authKeyBody, authKeyKind } from '../../domain/keys/auth-key.ts';
import { newSecret } from '../../domain/keys/secret.ts';
import { sampleKey } from './managed-state.ts';
import { openSealedStore } from './sealed.ts';
import { commitAnyhow } from './store-calls.ts';
import type { Teardown } from './teardown.ts';
import { waitFor } from './wait-for.ts';

interface Known {
  readonly dataDir: string;
  metric(name: string): Promise<number | undefined>;
}

/** Gives its secret. */
export async function issueKey(t: Teardown, gateway: Known, more: Partial<AuthKeyFields>): Promise<string> {
  const secret = newSecret();
  const key = sampleKey(secret, more);
  const store = openSealedStore({ directory: gateway.dataDir });
  t.teardown(() => store.close());
  const change = { kind: authKeyKind, id: key.id, body: authKeyBody(key) };
  await commitAnyhow(store, { expected: new Map(), changes: [change] });
  const { revision } = await store.revision();
  await waitFor(
    'the proxy to know the key',
    async () => ((await gateway.metric('gateway_state_revision')) ?? 0) >= revision,
  );
  return secret;
}
