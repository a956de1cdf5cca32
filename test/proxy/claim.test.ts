// Which objects a caller may name: its own, and what is unknown only where the configuration lets it.
import { test } from 'tap';
import { type ClaimParts, claim } from '../../proxy/kept/objects/claim.ts';
import type { Reference } from '../../proxy/kept/objects/json-references.ts';

const principal = { keyId: 'key-1', userPath: '/Team' };
const home = { provider: 'one', key: '', isBatchInput: false };
/** `/team` has made `mine`; `theirs` is known to be another owner's. */
const parts: ClaimParts = {
  homes: {
    find: async (_kind, id, owner) => (owner === '/team' && id === 'mine' ? home : undefined),
    ownerOf: async (_kind, id) => ({ mine: '/team', theirs: '/other' })[id],
  },
  storedResponses: { find: async () => undefined, findItem: async () => undefined },
};

async function outcomeOf(reference: Reference, allowsUnknownObjects: boolean, provider?: string): Promise<string> {
  try {
    const claimed = await claim([reference], { principal, snapshot: { allowsUnknownObjects }, provider }, parts);
    return `passes${claimed.length > 0 ? ', kept' : ''}`;
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

await test('what is unknown passes only where it is allowed, and never what another is known to have made', async (t) => {
  const file = (id: string): Reference => ({ family: 'file', id });
  const soft = (id: string): Reference => ({ family: 'item', id, isSoft: true });
  const refused = 'kept_not_found';
  const rows: [reference: Reference, provider: string | undefined, refusing: string, allowing: string][] = [
    [file('mine'), 'one', 'passes, kept', 'passes, kept'],
    [file('mine'), undefined, 'passes, kept', 'passes, kept'],
    [file('mine'), 'two', refused, refused],
    [file('theirs'), 'one', refused, refused],
    [file('unknown'), 'one', refused, 'passes'],
    [file('un known'), 'one', refused, refused],
    [soft('theirs'), 'one', refused, refused],
    [soft('unknown'), 'one', 'passes', 'passes'],
  ];
  for (const [reference, provider, refusing, allowing] of rows) {
    t.equal(await outcomeOf(reference, false, provider), refusing, JSON.stringify(reference));
    t.equal(await outcomeOf(reference, true, provider), allowing, JSON.stringify(reference));
  }
});

await test('the operator, in the name of no path, may name anything', async (t) => {
  const unknown: Reference = { family: 'file', id: 'theirs' };
  const ask = (keyId: string | undefined, userPath: string) =>
    claim(
      [unknown],
      { principal: { keyId, userPath }, snapshot: { allowsUnknownObjects: false }, provider: 'one' },
      parts,
    );
  t.same(await ask(undefined, '/'), []);
  await t.rejects(ask(undefined, '/team'), { code: 'kept_not_found' });
  await t.rejects(ask('key-1', '/'), { code: 'kept_not_found' });
});
