// What a scripted model says, chosen by the last words of the user. Data alone: neither client nor dialect is named here.

import { must, Refused } from './checks.ts';
import type { Heard, HeardTurn } from './heard.ts';

export interface Call {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Tokens. The input includes what was cached, the output what was thought. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly thoughts: number;
}

/** One answer of the model. */
export interface Saying {
  readonly thought: string;
  readonly text: string;
  readonly calls: readonly Call[];
  readonly usage: Usage;
  /** A stream pauses after each event. */
  readonly isSlow: boolean;
  /** A stream ends with an error in its middle. */
  readonly breaks: boolean;
}

type Need = 'tools' | 'schema' | 'image' | 'thinking';

export interface Scenario {
  /** What the request must have; a provider that does not get it refuses. */
  readonly needs: readonly Need[];
  /** One after the other: what is said after each result of tools. Empty: the request is refused. */
  readonly sayings: readonly Saying[];
}

/** A red dot: a PNG of one pixel. */
export const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** What a client's tool gives back. */
export function runTool(name: string, input: unknown): string {
  const { city, zone } = input as { readonly city?: string; readonly zone?: string };
  return name === 'get_weather' ? `21 degrees in ${city}` : `noon in ${zone}`;
}

export const forcedAnswer = { city: 'Zürich', degrees: 21.5, isSunny: true };

const zurich: Call = { name: 'get_weather', input: { city: 'Zürich "Nord"', days: 3 } };
const bern: Call = { name: 'get_weather', input: { city: 'Bern\n', days: 1.5 } };
const time: Call = { name: 'get_time', input: { zone: 'Europe/Zurich' } };

export const scenarios = {
  'say something plain': { needs: [], sayings: [say({ text: 'Grüße aus Zürich, 世界 🌍: "all" is well.' })] },
  'use a tool': {
    needs: ['tools'],
    sayings: [say({ text: 'Let me look.', calls: [zurich] }), say({ text: 'It is 21 degrees there.' })],
  },
  'use several tools': {
    needs: ['tools'],
    sayings: [say({ calls: [zurich, bern, time] }), say({ text: 'It is 21 degrees at noon.' })],
  },
  'fill the form': { needs: ['schema'], sayings: [say({ text: JSON.stringify(forcedAnswer) })] },
  'look at this': { needs: ['image'], sayings: [say({ text: 'It is a red dot.' })] },
  'think before you call': {
    needs: ['tools', 'thinking'],
    sayings: [
      say({ thought: 'They ask about Zürich.\nThere is a tool for that.', calls: [zurich] }),
      say({ text: 'It is 21 degrees, as I thought.' }),
    ],
  },
  'talk on and on': { needs: [], sayings: [say({ text: 'and on '.repeat(400), isSlow: true })] },
  'break off': { needs: [], sayings: [say({ text: 'This is never said to its end.', breaks: true })] },
  'say no': { needs: [], sayings: [] },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;

/** What the model answers here. Throws a Refused when something is not as the scenario has it. */
export function answerTo(heard: Heard): Saying {
  const asked = heard.turns.findLastIndex(isQuestion);
  const words = heardText(heard.turns[asked]);
  const scenario: Scenario | undefined = scenarios[words as ScenarioName];
  must(scenario !== undefined, `no scenario for ${JSON.stringify(words)}`);
  const since = heard.turns.slice(asked + 1);
  // A model that cannot have its thoughts back is asked not to think any more.
  const needs = since.length === 0 ? scenario.needs : scenario.needs.filter((need) => need !== 'thinking');
  for (const need of needs) must(hasGot(need, heard), `the scenario needs ${need}`);
  checkSaid(scenario, since);
  const saying = scenario.sayings[since.filter(({ role }) => role === 'assistant').length];
  if (saying === undefined) throw new Refused('Too many requests: slow down.', 429);
  return saying;
}

/** What came back of the turns before is what was said, and what the tools gave. */
function checkSaid({ sayings }: Scenario, turns: readonly HeardTurn[]): void {
  const spoken = turns.filter(({ role }) => role === 'assistant');
  for (const [index, { parts }] of spoken.entries()) {
    const calls = parts.flatMap((part) => (part.kind === 'call' ? [part] : []));
    const expected = sayings[index]?.calls ?? [];
    const shown = calls.map(({ name, input }) => ({ name, input: sorted(input) }));
    const same =
      JSON.stringify(shown) === JSON.stringify(expected.map(({ name, input }) => ({ name, input: sorted(input) })));
    must(same, `the calls that came back are not those that were made: ${JSON.stringify(shown)}`);
    const results = turns[turns.indexOf(spoken[index] as HeardTurn) + 1]?.parts ?? [];
    for (const { id, name, input } of calls) {
      const result = results.find((part) => part.kind === 'result' && part.id === id);
      const output = result?.kind === 'result' ? result.output : undefined;
      must(output === runTool(name, input), `the result of ${id} is ${JSON.stringify(output)}`);
    }
  }
}

/** Members may come back in another order. */
function sorted(input: unknown): unknown {
  return Object.fromEntries(Object.entries(input as object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function hasGot(need: Need, heard: Heard): boolean {
  if (need === 'tools') return ['get_weather', 'get_time'].every((name) => heard.tools.includes(name));
  if (need === 'schema') return heard.hasSchema;
  if (need === 'thinking') return heard.thinks;
  const parts = heard.turns.flatMap((turn) => turn.parts);
  return parts.some((part) => part.kind === 'image' && part.data === image && part.mediaType === 'image/png');
}

function isQuestion({ role, parts }: HeardTurn): boolean {
  return role === 'user' && parts.some(({ kind }) => kind === 'text');
}

function heardText(turn: HeardTurn | undefined): string {
  return turn?.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('') ?? '';
}

/** An answer with these parts alone, and numbers of tokens that differ. */
export function say(parts: Partial<Omit<Saying, 'usage'>>): Saying {
  const { thought = '', text = '', calls = [], isSlow = false, breaks = false } = parts;
  const thoughts = thought.length;
  const usage = { input: 100 + text.length, cached: 64, output: 10 + calls.length + thoughts, thoughts };
  return { thought, text, calls, isSlow, breaks, usage };
}
