// The cells of a scenario: at which door, in which form, and over which wires it is played.
import type { Door, Scenario, WireName } from './scenario.ts';
import type { Answer } from './wires.ts';

export const doors: readonly Door[] = ['chat', 'responses', 'messages'];

/** A provider of a cell. */
export interface CellTarget {
  readonly provider: string;
  /** Unlike that of any other cell: what is learned of a target must not be told to the next one. */
  readonly model: string;
  readonly wire: WireName;
  readonly answer: Answer;
}

export interface Cell {
  readonly scenario: Scenario;
  readonly door: Door;
  readonly form: 'JSON' | 'SSE';
  /** The first provider speaks the dialect of the client. */
  readonly isNative: boolean;
  readonly alias: string;
  readonly targets: readonly CellTarget[];
}

/** The wires of three providers that do not speak the dialect of a door. */
const foreign: Readonly<Record<Door, readonly WireName[]>> = {
  chat: ['messages', 'gemini', 'responses'],
  responses: ['chat', 'messages', 'gemini'],
  messages: ['chat', 'responses', 'gemini'],
};

/** All cells of these scenarios. */
export function cellsOf(scenarios: readonly Scenario[]): Cell[] {
  return scenarios.flatMap((scenario, number) => {
    const forms = scenario.form === undefined ? (['JSON', 'SSE'] as const) : [scenario.form];
    return doors.flatMap((door) =>
      forms.flatMap((form) => waysOf(scenario, door).map((wires) => cellOf({ scenario, door, form, number }, wires))),
    );
  });
}

/** The wires of the first, second … provider, one list for each way to play it at a door. */
function waysOf({ wire, plans }: Scenario, door: Door): readonly (readonly WireName[])[] {
  const native = plans.map((): WireName => door);
  const translated = plans.map((_, index) => foreign[door][index] ?? door);
  return wire === undefined ? [native, translated] : [[wire, ...native.slice(1)]];
}

function cellOf(
  { scenario, door, form, number }: Pick<Cell, 'scenario' | 'door' | 'form'> & { readonly number: number },
  wires: readonly WireName[],
): Cell {
  const isNative = wires[0] === door;
  const alias = `${number}-${door}-${form.toLowerCase()}-${isNative ? 'native' : 'translated'}`;
  const targets = wires.map((wire, index): CellTarget => {
    const letter = 'abc'[index] ?? '?';
    return {
      provider: `p${number}-${wire}-${letter}`,
      model: `m${letter}-${alias}`,
      wire,
      answer: {
        text: `Provider ${letter} answers ${alias}: every word of this was said by it, and by no other provider.`,
        usage: { input: 100 * (index + 1) + number, output: 20 + index },
      },
    };
  });
  return { scenario, door, form, isNative, alias, targets };
}
