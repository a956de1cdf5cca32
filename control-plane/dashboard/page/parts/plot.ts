// Series over time, drawn by uPlot. A value holds for the whole of its point, so it is a level line as long as that: nothing is drawn where there is
// no value, and no slope says what nobody measured. A cursor for pointer and keyboard tells the values, and a table holds the same.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { themeTurn } from '../theme.ts';
import { localDay, localHour, localTime } from '../time.ts';
import { TimeText } from './time-text.ts';

export interface Series {
  readonly label: string;
  /** One for each time; null: there is none. */
  readonly values: readonly (number | null)[];
  /** Of the whole time, beside the label. Absent: the sum. */
  readonly whole?: number | null;
  /** A name of `--series-…` in the style sheet. */
  readonly color: 'a' | 'b' | 'c' | 'd' | 'bad' | 'warn' | 'good';
}

export interface PlotProps {
  readonly title: string;
  /** Unix milliseconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Behind the title: `each minute`. */
  readonly note?: string;
  readonly format: (value: number) => string;
  readonly height?: number;
}

export function Plot({ title, times, series, note, format, height = 160 }: PlotProps): View {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [at, setAt] = useState<number | null>(null);
  const turn = useCell(themeTurn);
  const names = series.map(({ label }) => label).join();
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsOf(element, { series, format, height }, setAt), dataOf(times, series), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [names, height, turn]);
  useEffect(() => plot.current?.setData(dataOf(times, series)), [times, series]);
  const index = at !== null && at < times.length ? at : null;
  const text = (value: number | null | undefined): string =>
    value === null || value === undefined ? '–' : format(value);
  return html`<figure class="plot">
    <figcaption>
      <span class="plot-title">${title}</span>
      <span class="quiet small">${index === null ? note : localTime(times[index] ?? 0)}</span>
    </figcaption>
    <ul class="legend">
      ${series.map(
        ({ label, values, whole, color }) => html`<li key=${label}>
          <span class=${`swatch ${color}`} aria-hidden="true"></span>${label}
          <strong>${text(index === null ? (whole === undefined ? sum(values) : whole) : values[index])}</strong>
        </li>`,
      )}
    </ul>
    <div
      class="plot-canvas"
      ref=${place}
      role="img"
      tabindex="0"
      aria-label=${`${title}: a plot. The arrow keys move its cursor; the table below holds the same.`}
      onKeyDown=${(event: KeyboardEvent) => step(event, plot.current, index, times.length)}
      onBlur=${() => plot.current?.setCursor({ left: -10, top: -10 })}
    ></div>
    <details class="plot-table">
      <summary>${title} as a table</summary>
      <div class="table-scroll" tabindex="0" role="region" aria-label=${`${title} as a table`}>
        <table>
          <thead><tr><th scope="col">Time</th>${series.map(({ label }) => html`<th scope="col" class="number" key=${label}>${label}</th>`)}</tr></thead>
          <tbody>
            ${times.map(
              (time, row) => html`<tr key=${time}>
                <td><${TimeText} ms=${time} /></td>
                ${series.map(({ label, values }) => html`<td class="number" key=${label}>${text(values[row])}</td>`)}
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  </figure>`;
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce((total: number, value) => total + (value ?? 0), 0);
}

/** Two places on the line for each value: where its point begins, and just before the next one. Seconds. */
function dataOf(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  const lastMs = times.length < 2 ? 60_000 : (times.at(-1) ?? 0) - (times.at(-2) ?? 0);
  const ends = times.map((time, index) => times[index + 1] ?? time + lastMs);
  const x = times.flatMap((time, index) => [time / 1000, ((ends[index] ?? time) - 1) / 1000]);
  return [x, ...series.map(({ values }) => values.flatMap((value) => [value, value]))];
}

/** Moves the cursor of the plot by one value. */
function step(event: KeyboardEvent, plot: uPlot | undefined, index: number | null, length: number): void {
  const way = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (way === 0 || plot === undefined || length === 0) return;
  event.preventDefault();
  const next = index === null ? (way > 0 ? 0 : length - 1) : Math.max(0, Math.min(length - 1, index + way));
  plot.setCursor({ left: plot.valToPos(plot.data[0][2 * next] ?? 0, 'x'), top: 10 });
}

function optionsOf(
  element: HTMLElement,
  { series, format, height }: Pick<PlotProps, 'series' | 'format'> & { readonly height: number },
  tell: (index: number | null) => void,
): uPlot.Options {
  const axis = { stroke: colorOf(element, '--quiet'), font: '11px system-ui', ticks: { show: false } };
  const grid = { stroke: colorOf(element, '--line'), width: 1 };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_, splits) => splits.map((second) => tick(second * 1000)) },
      { ...axis, grid, size: 52, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(({ label, color }) => {
        const stroke = colorOf(element, `--series-${color}`);
        return { label, stroke, width: 1.5, fill: faded(stroke), points: { show: false }, spanGaps: false };
      }),
    ],
    hooks: {
      setCursor: [({ cursor: { idx } }) => tell(idx === null || idx === undefined ? null : Math.floor(idx / 2))],
    },
  };
}

/** The hour, at midnight the day. */
function tick(ms: number): string {
  const hour = localHour(ms);
  return hour === '00:00' ? localDay(ms) : hour;
}

/** The colour that a property of the style sheet has in the theme of now. */
function colorOf(element: HTMLElement, property: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${property})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function faded(color: string): string {
  return color.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.12)');
}
