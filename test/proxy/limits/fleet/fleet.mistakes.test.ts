// Each mistake made on purpose is found by the simulated fleet: what the worlds do not find, they would not find by accident either.
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { extent, isFull } from '../../../support/extent.ts';
import { mistakes } from './mistakes.ts';

type Story = typeof import('./story.ts');
type Clocks = typeof import('./clocks.ts');

const root = new URL('../../../../', import.meta.url).href;
/** In the name of a module: with which mistake it is loaded. */
const mark = '?mistake=';
/** So many worlds that find nothing are a fault. */
const worlds = extent(400, 60);
const requests = 600;

/** A short run tries every third mistake, unless one is named: worlds are told from seeds, so that what finds it does not change by itself. */
const stride = extent(1, process.env['FLEET_MISTAKE'] === undefined ? 3 : 1);

/** Only those whose name contains this. */
const wanted = process.env['FLEET_MISTAKE'] ?? '';

function markOf(url: string | undefined): string {
  const place = url?.indexOf(mark) ?? -1;
  return place === -1 ? '' : (url?.slice(place) ?? '');
}

const hooks = registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const inherited = markOf(context.parentURL);
    const isOurs = found.url.startsWith(root) && !found.url.includes('/node_modules/');
    return inherited === '' || !isOurs || found.url.includes(mark) ? found : { ...found, url: found.url + inherited };
  },
  load(url, context, next) {
    const mistake = mistakes[Number(markOf(url).slice(mark.length) || -1)];
    const loaded = next(url, context);
    if (mistake === undefined || !fileURLToPath(url).endsWith(`/${mistake.file}`)) return loaded;
    const text = Buffer.from(loaded.source as Uint8Array).toString();
    if (text.split(mistake.before).length !== 2) throw new Error(`${mistake.file} has not once: ${mistake.before}`);
    return { ...loaded, source: text.replace(mistake.before, () => mistake.after) };
  },
});

/** What the first world says in which something is wrong, and how many worlds that took. */
async function find(index: number): Promise<{ readonly told: number; readonly faults: readonly string[] }> {
  const story = (await import(`./story.ts${mark}${index}`)) as Story;
  const clocks = (await import(`./clocks.ts${mark}${index}`)) as Clocks;
  let told = 0;
  const { kinds = [], seed: first = 1 } = mistakes[index] ?? {};
  for (let seed = first; seed < first + worlds; seed += 1) {
    for (const kind of kinds) {
      told += 1;
      try {
        const fault = kind === 'clocks' ? clocks.wrongBounds(seed) : undefined;
        if (fault !== undefined) return { told, faults: [fault] };
        if (kind === 'clocks') continue;
        const { faults } = await story.tell(kind, seed, requests);
        if (faults.length > 0) return { told, faults };
      } catch (error) {
        return { told, faults: [String(error)] };
      }
    }
  }
  return { told, faults: [] };
}

for (const [index, { name }] of mistakes.entries()) {
  if (!name.includes(wanted) || index % stride !== 0) continue;
  await test(`worlds find: ${name}`, { timeout: isFull ? 600_000 : 60_000 }, async (t) => {
    const { told, faults } = await find(index);
    t.comment(`in ${told} worlds: ${faults[0] ?? 'nothing'}`);
    t.not(faults.length, 0);
  });
}
hooks.deregister();
