// Reading the file of a secret: what it may hold, and what is said of others, the same at once and later.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { SecretTexts } from '../../gitops/follow/secret-texts.ts';
import { readKeyFile, readKeyFileSync } from '../../gitops/read/key-file.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { temporaryDirectory } from '../support/teardown.ts';

await test('a file of a key is read whole, or what is wrong with it is said without its content', async (t) => {
  const folder = temporaryDirectory(t, 'key-file');
  const most = 'k'.repeat(16 * 1024);
  const contents: [content: string, reading: object][] = [
    ['sk-1', { key: 'sk-1' }],
    ['sk-1\r\n\n', { key: 'sk-1' }],
    [most, { key: most }],
    [`${most}\n`, { trouble: 'is larger than 16 KiB' }],
    ['', { trouble: 'is empty' }],
    ['\n', { trouble: 'is empty' }],
    ...['a b', 'a\nb', 'ä', 'a\0', ' a'].map((content): [string, object] => [
      content,
      { trouble: 'holds a blank, a line break or a character outside ASCII within the text' },
    ]),
  ];
  const paths: [path: string, reading: object][] = contents.map(([content, reading], index) => {
    const path = join(folder, String(index));
    writeFileSync(path, content);
    return [path, reading];
  });
  mkdirSync(join(folder, 'directory'));
  symlinkSync('loop', join(folder, 'loop'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  paths.push(
    [join(folder, 'absent'), { trouble: 'does not exist' }],
    [join(folder, '0', 'below-a-file'), { trouble: 'does not exist' }],
    [join(folder, 'directory'), { trouble: 'is not a regular file' }],
    [join(folder, 'pipe'), { trouble: 'is not a regular file' }],
    [join(folder, 'loop'), { trouble: 'is a symbolic link to itself' }],
  );
  for (const [path, reading] of paths) {
    t.strictSame(await readKeyFile(path), reading);
    t.strictSame(readKeyFileSync(path), reading);
  }
});

await test('the file of a configuration that is no longer wanted is not looked at', async (t) => {
  const path = join(temporaryDirectory(t, 'key-file'), 'key');
  const place = { file: 'a.yaml', line: 1, column: 1, path: 'providers.a' };
  const parts = [{ scheme: 'file', name: path }] as const;
  const secretTexts = [{ section: 'providers', name: 'a', at: ['api_key'], holds: 'key', parts, place }] as const;
  const keys = new SecretTexts(Date.now, { refreshMs: 60_000, fetch: async () => ({ trouble: 'is not read here' }) });
  keys.fill(defaultConfig());
  const asked = await keys.complete({ config: { ...defaultConfig(), secretTexts }, problems: [], warnings: [] });
  t.equal(asked.problems.length, 1);
  await keys.complete({ config: defaultConfig(), problems: [], warnings: [] });
  const none = { renewed: [], found: [], lost: [] };
  for (const change of [() => writeFileSync(path, 'sk-1'), () => rmSync(path)]) {
    change();
    for (let look = 0; look < 2; look += 1) t.strictSame(await keys.look(), none);
  }
});
