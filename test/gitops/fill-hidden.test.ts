// A configuration as the admin API shows it can be loaded again, and is the same with one's own values in the place of hidden ones.
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { firstLoadBytes, load } from '../../gitops/assemble/load-off-thread.ts';
import { diffConfigs } from '../../gitops/diff/diff.ts';
import { fillHidden } from '../../gitops/read/fill-hidden.ts';
import { readDirectory, type SourceFile } from '../../gitops/read/read.ts';
import { shownText } from '../../gitops/read/shown-text.ts';

const examples = join(import.meta.dirname, '../../examples');

async function loaded(files: readonly SourceFile[]): Promise<AssembledConfig> {
  const context = { environment: {}, variables: 'warning', entitlements: new Set(['quota_templates']) } as const;
  const { config, problems } = await load(files, context, firstLoadBytes);
  if (config === undefined) throw new Error(problems.map(({ path, message }) => `${path} ${message}`).join('\n'));
  return config;
}

function shown(files: readonly SourceFile[], own: (text: string) => string): SourceFile[] {
  return files.map((file) => {
    const text = fillHidden(shownText(file, []) ?? '', own(Buffer.from(file.bytes).toString()));
    return { ...file, bytes: Buffer.from(text) };
  });
}

await test('with the same files nothing differs', async (t) => {
  for (const name of globSync('*/config', { cwd: examples })) {
    const { files } = await readDirectory(join(examples, name));
    const [live, own] = [await loaded(shown(files, (text) => text)), await loaded(files)];
    t.same(diffConfigs(live, own), [], name);
  }
});

await test('without a file of its own it can be loaded, too', async (t) => {
  const { files } = await readDirectory(join(examples, 'gitops-repo/config'));
  const { keys, providers } = await loaded(shown(files, () => ''));
  t.ok(keys.length > 0);
  t.match(providers, { primary: { base_url: 'https://unset.invalid/v1' } });
});
