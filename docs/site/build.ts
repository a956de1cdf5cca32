// npm run docs: makes a static site of the pages of the repository in docs/site/dist, with VitePress, which is installed for it alone.
//   npm run docs            builds it
//   npm run docs -- serve   builds it, and serves it on 127.0.0.1:4173
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { forSite, groupsOf, pagePatterns, targetOf } from './pages.ts';

const here = import.meta.dirname;
const top = join(here, '../..');
const gathered = join(here, 'pages');

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd: here, stdio: 'inherit' });
}

rmSync(gathered, { recursive: true, force: true });
const sources = globSync(pagePatterns, { cwd: top });
const pages = new Map(sources.map((source) => [source, targetOf(source)]));
for (const [source, target] of pages) {
  const file = join(gathered, target);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, forSite(readFileSync(join(top, source), 'utf8'), { source, target }, pages));
}
for (const picture of globSync('docs/*.png', { cwd: top }))
  cpSync(join(top, picture), join(gathered, picture.replace('docs/', '')));
const map = readFileSync(join(top, 'docs/README.md'), 'utf8');
writeFileSync(join(gathered, 'groups.json'), JSON.stringify(groupsOf(map, pages)));

const vitepress = join(here, 'node_modules/vitepress/bin/vitepress.js');
if (!existsSync(vitepress)) run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
run(process.execPath, [vitepress, 'build']);
process.stdout.write(`The site is in ${join(here, 'dist')}\n`);
if (process.argv[2] === 'serve') run(process.execPath, [vitepress, 'serve', '--port', '4173']);
