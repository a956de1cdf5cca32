// Measures how exactly gateways share a cap, judged by what clients see: npm run accuracy. deploy/ACCURACY.md explains it.
import { setTimeout as pause } from 'node:timers/promises';
import { masterKey } from '../support/gateway.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { runLoads } from './load.ts';
import { type Options, type Others, readOptions, usage } from './options.ts';
import { type Answer, judge } from './oracle.ts';
import { accuracyTable, type CostRow, conclusion, costTable, isBroken, latencies, type Row } from './report.ts';
import { type LoadPlan, type Phase, phases, plans, plansOf, roomyPlan } from './scenarios.ts';
import { cause, costsBetween, costsOf, model, startSharedFleet, userPathOf, useScope } from './shared-fleet.ts';

const options = readWords();
if (options === undefined) console.log(usage);
else process.exitCode = await measure(options);

function readWords(): Options | undefined {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

/** The exit code: 1 when a period surely held more than was promised. */
async function measure({ seconds, sizes, others }: Options): Promise<number> {
  const rows: Row[] = [];
  const costs: CostRow[] = [];
  if (others === undefined) {
    for (const size of sizes) {
      const found = await measureFleet(size, seconds / sizes.length);
      rows.push(...found.rows);
      costs.push(...found.costs);
    }
  } else rows.push(...(await measureOthers(others, seconds)));
  console.log(accuracyTable(rows));
  if (costs.length > 0) console.log(`\n${costTable(costs)}`);
  console.log(`\n${conclusion(rows)}`);
  return rows.some(isBroken) ? 1 : 0;
}

/** Starts a fleet, and runs all phases on it, so many seconds together. */
async function measureFleet(size: number, seconds: number): Promise<{ rows: Row[]; costs: CostRow[] }> {
  const undoing: (() => unknown)[] = [];
  const rows: Row[] = [];
  const costs: CostRow[] = [];
  let alone: readonly number[] = [];
  let scope: Phase['scope'] = 'replica';
  try {
    progress(`starting ${size} proxies`);
    const fleet = await startSharedFleet({ teardown: (undo) => undoing.unshift(undo) }, size);
    const weights = phases.reduce((sum, { weight }) => sum + weight, 0);
    for (const phase of phases) {
      if (phase.scope !== scope) await useScope(fleet, phase.scope);
      scope = phase.scope;
      const own = (seconds * phase.weight) / weights;
      progress(`${size} proxies, ${phase.name}: ${own.toFixed(0)} s`);
      const slowdownOf = watchSlowdown(...fleet.proxies.map(({ process: { pid } }) => ({ pid })));
      const before = await costsOf(fleet.proxies);
      const load = { targets: fleet.proxies, plans, seconds: own, key: masterKey, model };
      const [answers, killed] = await Promise.all([
        runLoads({ ...load, userPathOf: (plan) => userPathOf(phase, plans.indexOf(plan)) }),
        cause(phase.fault, fleet, own),
      ]);
      const slowdown = slowdownOf();
      const shared = latencies(answers.get(roomyPlan.name) ?? []);
      if (phase.scope === 'replica') {
        alone = shared;
        continue;
      }
      const spent = costsBetween(before, await costsOf(fleet.proxies), killed);
      const requests = [...answers.values()].flat().length;
      costs.push({ gateways: size, phase: phase.name, requests, costs: spent, slowdown, shared, alone });
      for (const plan of plans) {
        const row = rowOf(plan, answers.get(plan.name) ?? [], { gateways: size, phase: phase.name });
        const mayShare = spent.withoutStore > 0 && plan.onStoreLoss === 'share';
        rows.push(mayShare ? { ...row, promised: 2 * plan.cap - 1 } : row);
      }
      await fleet.recovered();
    }
  } finally {
    for (const undo of undoing) await undo();
  }
  return { rows, costs };
}

/** One load after the other; before each, a pause in which whatever was counted before leaves the period. */
async function measureOthers(others: Others, seconds: number): Promise<Row[]> {
  const { targets, key, periodSeconds, cap } = others;
  const urls = targets.map((url) => ({ url }));
  const rows: Row[] = [];
  const own = plansOf({ cap, periodSeconds });
  for (const plan of own) {
    progress(`${plan.name}: a pause of a period first`);
    await pause(periodSeconds * 1_050);
    progress(`${plan.name}: ${(seconds / own.length).toFixed(0)} s`);
    const load = { targets: urls, plans: [plan], seconds: seconds / own.length, key, model: others.model };
    const answers = (await runLoads({ ...load, userPathOf: () => undefined })).get(plan.name) ?? [];
    if (!answers.some(({ outcome }) => outcome === 'admitted')) {
      throw new Error(`no request was answered with 200 by ${targets.join(', ')}: check --key and --model`);
    }
    rows.push(rowOf(plan, answers, { gateways: targets.length, phase: 'no fault' }));
  }
  return rows;
}

function rowOf(plan: LoadPlan, answers: readonly Answer[], where: Pick<Row, 'gateways' | 'phase'>): Row {
  return {
    ...where,
    plan,
    promised: plan.cap,
    verdict: judge(answers, { cap: plan.cap, periodMs: plan.periodSeconds * 1_000 }),
  };
}

function progress(text: string): void {
  console.error(text);
}
