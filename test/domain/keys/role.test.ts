import { test } from 'tap';
import { isRole, mayDo, roles } from '../../../domain/keys/role.ts';

void test('each role may do what itself and those before it may do', async (t) => {
  const allowed = roles.map((role) => roles.filter((needed) => mayDo(role, needed)));
  t.strictSame(allowed, [['viewer'], ['viewer', 'operator'], ['viewer', 'operator', 'admin']]);
});

void test('only the names of roles are roles', async (t) => {
  t.strictSame(['viewer', 'admin', 'root', 'Admin', '', undefined, ['admin']].map(isRole), [
    true,
    true,
    ...Array.from({ length: 5 }, () => false),
  ]);
});
