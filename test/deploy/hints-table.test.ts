// Each member that is left out as a hint stands in one table of the page about dialects, with the reason why the answer is the same without it.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import type { ConversationRequest } from '../../proxy/dialects/conversation/conversation.ts';
import { fieldName } from '../../proxy/dialects/field-names.ts';
import type { JsonObject } from '../../proxy/dialects/json/json.ts';
import type { ClientDialect } from '../../proxy/dialects/translation.ts';
import { clients } from '../support/client-dialects.ts';

const top = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(top, path), 'utf8');
const [, section = ''] = read('deploy/DIALECTS.md').split('### Why the answer is the same without a hint');
const rows = [...(section.split('\n\n')[1] ?? '').matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].slice(2);
const reasons = new Map(
  rows.flatMap(([, left = '', why = '']) => [...left.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, why])),
);

/** The last step of a path: `is_error` of `messages.content.is_error`. */
const last = (path: string): string => path.split('.').at(-1) ?? '';

const fieldNames = read('proxy/dialects/field-names.ts');
type Member = Parameters<typeof fieldName>[0];

await test('whatever the writers of the dialects leave out as a hint has its reason', (t) => {
  const sources = globSync('proxy/dialects/**/*.ts', { cwd: top }).map(read).join('\n');
  const named = [...sources.matchAll(/hint\(\s*(?:(?:fieldName|name)\()?'([\w.]+)'/g)].map(([, name = '']) => name);
  t.ok(named.length > 40);
  // A name that is none of the conversation's is the client's own.
  const isMember = (name: string): name is Member => new RegExp(`^  ${name}: `, 'm').test(fieldNames);
  for (const name of new Set(named)) {
    const fields = isMember(name) ? clients.map(({ dialect }) => fieldName(name, dialect.name)) : [name];
    t.same(
      fields.map(last).filter((field) => !reasons.has(field)),
      [],
      name,
    );
  }
  t.end();
});

/** What the SDK of an API knows of a request. */
function membersOf(path: string, type: string): readonly string[] {
  const [, body = ''] = new RegExp(`export interface ${type} \\{\\n(.*?)\\n\\}`, 's').exec(read(path)) ?? [];
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) => name);
}

for (const { dialect, least, sdk } of clients) {
  await test(`each member that clients of ${dialect.name} know is told, refused, or has its reason`, (t) => {
    const members = sdk.flatMap(([path, type]) => membersOf(`test/node_modules/${path}`, type));
    t.ok(members.length > 15);
    const unknown = [...new Set(members)].filter((name) => {
      const said = ownMember(dialect, { ...least, [name]: ['x'] }, name);
      return said !== undefined && !said.isMeaning && !reasons.has(name);
    });
    t.same(unknown, []);
    t.end();
  });
}

function ownMember(
  dialect: ClientDialect,
  body: JsonObject,
  name: string,
): ConversationRequest['ownMembers'][number] | undefined {
  try {
    return dialect.readRequest(body).ownMembers.find(({ path }) => path.length === 1 && path[0] === name);
  } catch {
    // A member that is read has a type, and this is none of it.
    return undefined;
  }
}

await test('every row says why in a sentence', (t) => {
  t.ok(rows.length > 10);
  for (const [, left = '', why = ''] of rows) t.match(why, /^[A-Z].+\.$/, left);
  t.end();
});
