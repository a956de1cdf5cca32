// A key that was renamed, or that other gateways have, is explained where it is unknown.
import { test } from 'tap';
import { otherName } from '../../gitops/read/other-names.ts';

await test('a renamed key says its name, and since when', async (t) => {
  const names = [{ above: 'aliases.*.retry', name: 'tries', now: 'attempts', since: '0.3.0' }];
  t.equal(otherName(['aliases', 2, 'retry'], 'tries', names), '; it was renamed to attempts in version 0.3.0');
  t.equal(otherName(['aliases', 2], 'tries', names), undefined, 'only where it stood');
});
