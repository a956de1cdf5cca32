// The pages of the documentation as their reader follows them: the commands of a page, and what it says they print.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';

const top = join(import.meta.dirname, '../..');

/** Commands that stand together on a page. */
export interface Commands {
  /** `docs/cache.md:12` */
  readonly place: string;
  readonly text: string;
  /** The block without a language right behind: what is printed, with `…` for what differs each time. */
  readonly printed: string | undefined;
}

/** The blocks of commands (`sh`) of a page, in their order. */
export function commandsOf(page: string): Commands[] {
  const content = readFileSync(join(top, page), 'utf8');
  return [...content.matchAll(/^```sh\n(.*?)^```\n(?:\n```\n(.*?)^```$)?/gms)].map((match) => ({
    place: `${page}:${content.slice(0, match.index).split('\n').length}`,
    text: match[1] ?? '',
    printed: match[2],
  }));
}

/** The YAML blocks of a page. */
export function yamlOf(page: string): string[] {
  const content = readFileSync(join(top, page), 'utf8');
  return [...content.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

/** Whether what was printed is what a page says, line by line; blanks at the ends of lines do not count. */
function isAsPrinted(said: string, printed: string): boolean {
  const plain = (text: string): string => text.replaceAll(/ +$/gm, '').trim();
  const pattern = plain(printed)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('.*');
  return new RegExp(`^${pattern}$`).test(plain(said));
}

/** Commands of pages that are not run, and why. */
export const notRun: readonly (readonly [command: RegExp, reason: string])[] = [
  [/(cloud-identity\/clouds|identity\/issuer)\.ts$/m, 'it is started by the test'],
  [/^vault server\b/m, 'test/examples/secrets.test.ts plays a Vault'],
  [/^npm ci\b/m, 'installs the packages that the tests have'],
  [/^npm start\b|\bnpm start$/m, 'the gateway is started by the test'],
  [/^npm run release:check\b/m, 'builds what is shipped'],
  [/^npm pack\b/m, 'test/deploy/package.test.ts packs, and starts what it has packed'],
  [/^npx @portkey-ai|^npm run (bench|accuracy)\b/m, 'measures for minutes'],
];

/** Documents of errors, as `curl` prints them. */
const refused = /^\{"(error|code)":/m;

/**
 * Pastes the commands of a page in their order. Each block must succeed, print what the page shows right behind it, and, where that shows nothing,
 * no document of an error.
 */
export async function runPage(t: Test, page: string, paste: (commands: string) => Promise<string>): Promise<void> {
  for (const { place, text, printed } of commandsOf(page)) {
    if (notRun.some(([command]) => command.test(text))) continue;
    // What goes on until its `-m` is over says 28 then; there is no need to wait for all of it.
    const said = await paste(`${text.replace(/ -m \d+ /, ' -m 1 ')}\necho "status $?"`);
    const { 1: output = '', 2: status } = /^(.*)status (\d+)\n$/s.exec(said) ?? [];
    t.equal(status, / -m \d+ /.test(text) ? '28' : '0', `${place}\n${text}\n${said}`);
    if (printed === undefined) t.notMatch(output, refused, place);
    else t.ok(isAsPrinted(output, printed), `${place} prints\n${output}`);
  }
}
