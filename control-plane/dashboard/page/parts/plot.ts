// Series over time, drawn by uPlot: a cursor for pointer and keyboard tells the values, and a table holds the same for those who do not see it.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { themeTurn } from '../theme.ts';
import { localDay, localHour, localTime } from '../time.ts';
import { TimeText } from './time-text.ts';

export interface Series {
  readonly label: string;
  /** One for each time. */
  readonly values: readonly number[];
  /** A name of `--series-…` in the style sheet. */
  readonly color: 'a' | 'b' | 'c' | 'd' | 'bad' | 'warn' | 'good';
}

export interface PlotProps {
  readonly title: string;
  /** Unix milliseconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly height?: number;
}

export function Plot({ title, times, series, format, height = 160 }: PlotProps): View {
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
  return html`<figure class="plot">
    <figcaption>
      <span class="plot-title">${title}</span>
      <span class="quiet small">${index === null ? '' : localTime(times[index] ?? 0)}</span>
    </figcaption>
    <ul class="legend">
      ${series.map(
        ({ label, values, color }) => html`<li key=${label}>
          <span class=${`swatch ${color}`} aria-hidden="true"></span>${label}
          <strong>${format(index === null ? sum(values) : (values[index] ?? 0))}</strong>
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
                ${series.map(({ label, values }) => html`<td class="number" key=${label}>${format(values[row] ?? 0)}</td>`)}
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  </figure>`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function dataOf(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  return [times.map((time) => time / 1000), ...series.map(({ values }) => [...values])];
}

/** Moves the cursor of the plot by one value. */
function step(event: KeyboardEvent, plot: uPlot | undefined, index: number | null, length: number): void {
  const way = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (way === 0 || plot === undefined || length === 0) return;
  event.preventDefault();
  const next = index === null ? (way > 0 ? 0 : length - 1) : Math.max(0, Math.min(length - 1, index + way));
  plot.setCursor({ left: plot.valToPos(plot.data[0][next] ?? 0, 'x'), top: 10 });
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
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_, splits) => splits.map((second) => tick(second * 1000)) },
      { ...axis, grid, size: 52, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(({ label, color }) => {
        const stroke = colorOf(element, `--series-${color}`);
        return { label, stroke, width: 1.5, fill: faded(stroke), points: { show: false } };
      }),
    ],
    hooks: { setCursor: [({ cursor }) => tell(cursor.idx ?? null)] },
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
