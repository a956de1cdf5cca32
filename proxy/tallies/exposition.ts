// Metrics as text, for those with thousands of samples: prom-client hashes and sorts the labels of each one at every scrape.
import { setImmediate } from 'node:timers/promises';
import type { MetricDefinition } from '../../schemas/metrics/limit-metrics.ts';

/** Samples between two pauses: about a millisecond of work. */
const samplesInARow = 250;

/** Builds a text in the exposition format of Prometheus, step by step. */
export class Exposition {
  #text = '';
  #sincePause = 0;

  /** Begins the samples of a metric. */
  metric({ name, help, type }: MetricDefinition): void {
    this.#text += `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`;
  }

  /** One sample; label values may hold any character. */
  sample(name: string, labels: Readonly<Record<string, string>>, value: number): void {
    let shown = '';
    for (const label in labels)
      shown += `${shown === '' ? '' : ','}${label}="${escaped(labels[label] ?? '').replaceAll('"', '\\"')}"`;
    this.#text += `${name}${shown === '' ? '' : `{${shown}}`} ${numberText(value)}\n`;
  }

  /** To be awaited after each piece of work, which weighs as much as so many samples: lets requests be served in between. */
  pause(weight: number = 1): Promise<void> | undefined {
    this.#sincePause += weight;
    if (this.#sincePause < samplesInARow) return undefined;
    this.#sincePause = 0;
    return setImmediate();
  }

  text(): string {
    return this.#text;
  }
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** A value as the format writes it. */
export function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
