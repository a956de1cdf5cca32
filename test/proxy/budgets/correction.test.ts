// When records correct what proxies have counted of a budget, and when they are only late.
import { test } from 'tap';
import { Correction, latestRecordMs } from '../../../proxy/budgets/correction.ts';

const startMs = 1_800_000_000_000;

await test('what records know beyond is added once, and stays while further records are on their way', (t) => {
  const correction = new Correction();
  const note = (counted: number, settled: number | undefined, atMs = startMs): number => {
    correction.note({ counted, settled, recorded: settled ?? 0, recordedAtMs: atMs }, atMs);
    return correction.amount;
  };
  t.equal(note(0, 500), 500, 'spent before proxies counted');
  t.equal(note(40, 500), 500, 'its record has not come');
  t.equal(note(40, 540), 500);
  t.equal(note(60, undefined), 500, 'nothing is known');
  t.equal(note(60, 700), 640, 'a state store has lost what it knew');
  t.end();
});

await test('records that are late correct nothing', (t) => {
  const correction = new Correction();
  for (let minute = 0; minute < 60; minute += 1) {
    const nowMs = startMs + minute * 60_000;
    const counted = minute * 100;
    const recorded = Math.max(0, counted - 900);
    correction.note({ counted, settled: recorded, recorded, recordedAtMs: nowMs }, nowMs);
  }
  t.equal(correction.amount, 0, 'nine minutes late');
  t.end();
});

await test('what was counted and never recorded is taken off after the longest that a record may take', (t) => {
  const correction = new Correction();
  const note = (afterMs: number, recorded: number, counted: number): number => {
    const nowMs = startMs + afterMs;
    correction.note({ counted, settled: recorded, recorded, recordedAtMs: nowMs }, nowMs);
    return correction.amount;
  };
  t.equal(note(0, 400, 1_000), 0);
  t.equal(note(latestRecordMs - 1, 400, 1_000), 0);
  t.equal(note(latestRecordMs, 400, 1_000), -600, 'a killed proxy has held it');
  t.equal(note(latestRecordMs + 1, 450, 1_050), -600);
  t.equal(note(latestRecordMs + 2, 700, 1_050), -350, 'it was spent all the same');
  t.end();
});
